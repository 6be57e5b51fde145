#!/bin/bash
# Create the topics of the clinic example, once; the ledger is made by the service.
set -euo pipefail

create() {
  local topic="$1" partitions="$2"
  /opt/kafka/bin/kafka-topics.sh --bootstrap-server "$BROKER" --create --if-not-exists \
    --topic "$topic" --partitions "$partitions" --replication-factor 1
}

create "$INPUT" 4
create "$OUTPUT" 2
create "$OUTPUT.certificates" 1
create "$OUTPUT.dead-letters" 1
