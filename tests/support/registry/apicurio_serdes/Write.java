import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes JSON lines to a topic by one of Apicurio's serializers: address, topic, format, schema, its settings. */
public class Write {
  private static final String ROOM = "io.apicurio.registry.serde.";

  private interface Reading {
    Object read(String line) throws Exception;
  }

  public static void main(String[] given) throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", given[0]);
    settings.put("key.serializer", ByteArraySerializer.class);
    settings.put("value.serializer", Class.forName(ROOM + serializer(given[2])));
    for (int i = 4; i < given.length; i++) {
      var pair = given[i].split("=", 2);
      settings.put("apicurio.registry." + pair[0], pair[1]);
    }
    var reading = reading(given[2], Files.readAllBytes(Path.of(given[3])));
    var lines = new BufferedReader(new InputStreamReader(System.in));
    try (var producer = new KafkaProducer<byte[], Object>(settings)) {
      for (var line = lines.readLine(); line != null; line = lines.readLine()) {
        producer.send(new ProducerRecord<>(given[1], reading.read(line))).get();
      }
    }
  }

  private static String serializer(String format) {
    return switch (format) {
      case "avro" -> "avro.AvroKafkaSerializer";
      case "protobuf" -> "protobuf.ProtobufKafkaSerializer";
      default -> "jsonschema.JsonSchemaKafkaSerializer";
    };
  }

  private static Reading reading(String format, byte[] given) throws Exception {
    if (format.equals("avro")) {
      var schema = new Schema.Parser().parse(new String(given));
      var reader = new GenericDatumReader<GenericRecord>(schema);
      return line -> reader.read(null, DecoderFactory.get().jsonDecoder(schema, line));
    }
    if (format.equals("protobuf")) {
      var file = FileDescriptor.buildFrom(FileDescriptorProto.parseFrom(given), new FileDescriptor[0]);
      var kind = file.findMessageTypeByName("Person");
      return line -> {
        var built = DynamicMessage.newBuilder(kind);
        JsonFormat.parser().merge(line, built);
        return built.build();
      };
    }
    var mapper = new ObjectMapper();
    return line -> mapper.readValue(line, Map.class);
  }
}
