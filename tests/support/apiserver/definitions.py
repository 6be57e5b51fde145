"""Definitions of the custom resources that the chart uses, made from the models of PyPI's cloudcoil packages."""

from __future__ import annotations

import importlib
from typing import Any

Schema = dict[str, Any]

_MODULES = {
    "monitoring.coreos.com/v1": "cloudcoil.models.prometheus_operator.v1",
    "keda.sh/v1alpha1": "cloudcoil.models.keda.v1alpha1",
}
_KINDS = {
    "monitoring.coreos.com/v1": ("ServiceMonitor", "PodMonitor", "PrometheusRule"),
    "keda.sh/v1alpha1": ("ScaledObject", "TriggerAuthentication"),
}
_KEPT = (
    "type",
    "enum",
    "required",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)


def definitions() -> list[Schema]:
    """Return a CustomResourceDefinition for each kind; raise ImportError where a package is absent."""
    return [_definition(version, kind) for version, kinds in _KINDS.items() for kind in kinds]


def _definition(api_version: str, kind: str) -> Schema:
    group, version = api_version.split("/")
    plural = f"{kind.lower()}s"
    model = getattr(importlib.import_module(_MODULES[api_version]), kind)
    whole = model.model_json_schema(by_alias=True)
    whole["properties"].pop("metadata")  # the server knows it, and lets nobody else describe it
    schema = structural(whole, whole["$defs"])
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [served]},
    }


def structural(schema: Schema, named: dict[str, Schema]) -> Schema:
    """Return a JSON schema of pydantic as an API server takes it, without references and unions.

    Parameters
    ----------
    schema
        A schema, or a part of one.
    named
        What its references name.
    """
    if "$ref" in schema:
        return structural(named[schema["$ref"].removeprefix("#/$defs/")], named)
    if "anyOf" in schema:
        choices = [choice for choice in schema["anyOf"] if choice.get("type") != "null"]
        if len(choices) > 1:  # a number or a text: these models have no other union
            return {"x-kubernetes-int-or-string": True}
        return structural(choices[0], named)
    if not schema.keys() & {"type", "properties"}:
        return {"x-kubernetes-preserve-unknown-fields": True}
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if "properties" in schema:
        plain["properties"] = {key: structural(part, named) for key, part in schema["properties"].items()}
    elif isinstance(schema.get("additionalProperties"), dict):
        plain["additionalProperties"] = structural(schema["additionalProperties"], named)
    elif schema["type"] == "object":
        plain["x-kubernetes-preserve-unknown-fields"] = True
    if "items" in schema:
        plain["items"] = structural(schema["items"], named)
    return plain
