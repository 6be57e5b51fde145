"""The chart, rendered by the real helm for every committed value set."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from stream_anon.microdata.choices.window_limits import LEAST_AUTO
from stream_anon.settings.loading import load_settings
from stream_anon.settings.policy_file import build_policy
from tests.support.helm import CHART, VALUE_SETS, attempt, environment, helm, of_kind, render, value_set

pytestmark = pytest.mark.slow  # helm is started some fifty times
every_value_set = pytest.mark.parametrize("values", VALUE_SETS, ids=lambda path: path.stem)
OURS = ("cloudcoil.models.prometheus_operator.v1", "cloudcoil.models.keda.v1alpha1")

# A settings file that secures the brokers, as one argument of helm.
SECURED = (
    "policy=kafka: {security: {protocol: SASL_SSL}\\, bootstrap_servers: k\\, group: g\\, input: i}\n"
    "privacy: {}\nattributes: {}"
)
REGISTRY = "settings.kafka.registry"


def _pod(objects: list[dict[str, Any]]) -> dict[str, Any]:
    spec: dict[str, Any] = of_kind(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def test_there_are_as_many_value_sets_as_promised() -> None:
    assert len(VALUE_SETS) >= 10


@every_value_set
def test_helm_finds_no_fault_with_the_chart(values: Path) -> None:
    done = helm("lint", "--strict", "--values", str(values), str(CHART))
    assert done.returncode == 0, done.stdout


@every_value_set
def test_every_object_fits_the_schema_of_kubernetes(values: Path) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    checked = 0
    for document in render(values):
        if ".coreos.com/" in document["apiVersion"] or document["apiVersion"].startswith("keda.sh/"):
            continue
        for version in ("1.27", "1.33"):
            validator.validate(document, version, strict=True)
        checked += 1
    assert checked >= 4


@every_value_set
def test_every_custom_resource_fits_its_schema(values: Path) -> None:
    kinds = {"monitoring.coreos.com/v1": OURS[0], "keda.sh/v1alpha1": OURS[1]}
    for document in render(values):
        if document["apiVersion"] in kinds:
            name = kinds[document["apiVersion"]]
            models = pytest.importorskip(name, reason=f"{name} is not installed")
            model = getattr(models, document["kind"]).model_validate(document)
            # What the model does not know it drops.
            assert model.model_dump(by_alias=True, exclude_unset=True, mode="json") == document


@every_value_set
def test_a_pod_has_no_more_rights_than_it_needs(values: Path) -> None:
    objects = render(values)
    jobs = [o["spec"]["jobTemplate"]["spec"]["template"]["spec"] for o in objects if o["kind"] == "CronJob"]
    for pod in (_pod(objects), *jobs, *(o["spec"] for o in objects if o["kind"] == "Pod")):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 65532
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        context = pod["containers"][0]["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert pod["containers"][0]["resources"]["limits"]["memory"]
    if accounts := [o for o in objects if o["kind"] == "ServiceAccount"]:
        assert accounts[0]["automountServiceAccountToken"] is False
    assert not [o["kind"] for o in objects if "Role" in o["kind"]]


@every_value_set
def test_every_name_leads_to_an_object(values: Path) -> None:
    """Volumes, config maps, selectors and scale targets name what is rendered, or what the values say exists."""
    objects = render(values)
    pod, deployment = _pod(objects), of_kind(objects, "Deployment")
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} == volumes
    given = yaml.safe_load(values.read_text())
    config = next(volume["configMap"] for volume in pod["volumes"] if volume["name"] == "config")
    maps = {o["metadata"]["name"]: o for o in objects if o["kind"] == "ConfigMap"}
    if "existingConfigMap" in given:
        assert config["name"] == given["existingConfigMap"]
    else:
        assert {item["key"] for item in config["items"]} == set(maps[config["name"]]["data"])
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    audits = [o["spec"]["jobTemplate"]["spec"]["template"] for o in objects if o["kind"] == "CronJob"]
    known = [labels, *(template["metadata"]["labels"] for template in audits)]
    for document in objects:
        spec = document.get("spec", {})
        selector = spec.get("selector", spec.get("podSelector", {}))
        selected = selector.get("matchLabels", selector).items()
        assert any(selected <= of.items() for of in known), document["kind"]
        target = spec.get("scaleTargetRef")
        assert target is None or target["name"] == deployment["metadata"]["name"]
    service = of_kind(objects, "Service")
    ports = {port["name"]: port["containerPort"] for port in pod["containers"][0]["ports"]}
    assert service["spec"]["ports"][0]["targetPort"] in ports
    assert str(ports["http"]) == environment(deployment)["STREAM_ANON__HTTP__PORT"]


@every_value_set
def test_the_service_accepts_the_settings_of_the_chart(
    values: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings file of the ConfigMap and the variables make settings that the service accepts."""
    objects = render(values)
    given = yaml.safe_load(values.read_text())
    if "existingConfigMap" in given:
        pytest.skip("its settings file is not in the chart")
    pod = _pod(objects)
    config = next(volume["configMap"] for volume in pod["volumes"] if volume["name"] == "config")
    names = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
    data = names[config["name"]]
    for item in config["items"]:
        (tmp_path / item["path"]).parent.mkdir(exist_ok=True)
        (tmp_path / item["path"]).write_text(data[item["key"]])
    for name, value in reversed(environment(of_kind(objects, "Deployment")).items()):
        monkeypatch.setenv(name, "from-a-secret" if value is None else value)
    settings = load_settings(tmp_path / "policy.yaml")
    assert settings.http.host == "0.0.0.0"  # noqa: S104 - probes cannot reach loopback
    assert settings.http.admin_host == "127.0.0.1"
    policy = build_policy(
        settings, tmp_path / "policy.yaml", with_secrets=False
    )  # of which there are no files here
    assert policy.k == given.get("settings", {}).get("privacy", {}).get("k", 10)
    for section, keys in given.get("settings", {}).items():
        for key in keys.keys() - {"sensitive", "max_delay", "session_timeout"}:
            assert getattr(getattr(settings, section), key) == keys[key]


def test_a_registry_for_all_charts_wins_and_its_secrets_are_added() -> None:
    given = (
        'global={"imageRegistry": "registry.example/", "imagePullSecrets": ["all", {"name": "ours"}]}',
        'imagePullSecrets=[{"name": "ours"}]',
        'image={"registry": "elsewhere.example"}',
    )
    objects = render(value_set("minimal"), as_json=given)
    for pod in (_pod(objects), *(o["spec"] for o in objects if o["kind"] == "Pod")):
        assert pod["containers"][0]["image"].startswith("registry.example/stream-anon:")
        assert pod["imagePullSecrets"] == [{"name": "ours"}, {"name": "all"}]


def test_labels_of_the_values_do_not_replace_those_that_selectors_rely_on() -> None:
    stray = '{"app.kubernetes.io/name": "x", "app.kubernetes.io/instance": "y", "team": "z"}'
    for document in render(value_set("operator"), as_json=(f"commonLabels={stray}", f"podLabels={stray}")):
        labels = document["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "people"
        assert labels["app.kubernetes.io/name"].startswith("stream-anon")
        template = document.get("spec", {}).get("template", {"metadata": {"labels": {"team": "z"}}})
        assert template["metadata"]["labels"]["team"] == "z"


def test_a_new_version_of_the_chart_alone_replaces_no_pod(tmp_path: Path) -> None:
    newer = tmp_path / "stream-anon"
    shutil.copytree(CHART, newer)
    (newer / "Chart.yaml").write_text(
        re.sub(r"(?m)^version: .*", "version: 9.9.9", (CHART / "Chart.yaml").read_text())
    )

    def template(chart: Path) -> Any:
        done = attempt(value_set("files"), chart=chart)
        objects = [document for document in yaml.safe_load_all(done.stdout) if document]
        return of_kind(objects, "Deployment")["spec"]["template"]

    assert template(newer) == template(CHART)


def test_a_changed_configmap_of_ones_own_replaces_the_pods_where_its_checksum_is_given() -> None:
    def annotations(*more: str) -> dict[str, str]:
        template = of_kind(render(value_set("existing-configmap"), *more), "Deployment")["spec"]["template"]
        return dict(template["metadata"]["annotations"])

    assert annotations("existingConfigMapChecksum=abc")["checksum/config"] == "abc"
    assert "checksum/config" not in annotations(), "rendered without a cluster nothing is known of it"


@pytest.mark.parametrize("name", ["minimal", "locked-down"])
def test_the_test_pod_reaches_a_service_that_only_some_may_reach(name: str) -> None:
    objects = render(value_set(name))
    (test,) = [o for o in objects if o["kind"] == "Pod"]
    sources = of_kind(objects, "NetworkPolicy")["spec"]["ingress"][0]["from"]
    allowed = [source["podSelector"]["matchLabels"] for source in sources if "podSelector" in source]
    assert any(labels.items() <= test["metadata"]["labels"].items() for labels in allowed)


def test_scalers_add_one_pod_at_a_time() -> None:
    scaled = of_kind(render(value_set("keda")), "ScaledObject")["spec"]
    behaviors = [
        scaled["advanced"]["horizontalPodAutoscalerConfig"]["behavior"],
        of_kind(render(value_set("autoscaling")), "HorizontalPodAutoscaler")["spec"]["behavior"],
    ]
    for behavior in behaviors:
        assert behavior["scaleUp"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 120}]
        assert behavior["scaleUp"]["stabilizationWindowSeconds"] == 120


def test_pods_that_are_not_ready_do_not_keep_a_node_from_being_drained() -> None:
    assert of_kind(render(value_set("minimal")), "PodDisruptionBudget")["spec"]["unhealthyPodEvictionPolicy"] == (
        "AlwaysAllow"
    )


def test_alerts_can_be_left_out_labelled_and_added_to() -> None:
    own = {"name": "mine", "rules": [{"alert": "Mine", "expr": "vector(1)"}]}
    given = (
        'prometheusRule.disabled=["StreamAnonStalled", "StreamAnonDailyAuditStale"]',
        'prometheusRule.additionalLabels={"team": "privacy"}',
        'prometheusRule.alertLabels={"StreamAnonNotReady": {"severity": "ticket"}}',
        f"prometheusRule.additionalGroups=[{json.dumps(own)}]",
    )
    spec = of_kind(render(value_set("operator"), as_json=given), "PrometheusRule")["spec"]
    rules = {rule["alert"]: rule for group in spec["groups"] for rule in group["rules"] if "alert" in rule}
    assert not {"StreamAnonStalled", "StreamAnonDailyAuditStale"} & set(rules)
    assert "StreamAnonDailyAuditFailed" in rules
    assert rules.pop("Mine") == own["rules"][0]  # type: ignore[index]
    assert all(rule["labels"]["team"] == "privacy" for rule in rules.values())
    assert rules["StreamAnonNotReady"]["labels"]["severity"] == "ticket"
    unknown = attempt(value_set("operator"), as_json=('prometheusRule.disabled=["Stalled"]',))
    assert "prometheusRule: there is no alert Stalled" in unknown.stderr


def test_targets_and_series_can_be_relabelled() -> None:
    rule = [{"action": "labeldrop", "regex": "pod"}]
    for name, kind, place in (
        ("operator", "ServiceMonitor", "endpoints"),
        ("pod-monitor", "PodMonitor", "podMetricsEndpoints"),
    ):
        key = kind[0].lower() + kind[1:]
        given = (f"{key}.relabelings={json.dumps(rule)}", f"{key}.metricRelabelings={json.dumps(rule)}")
        (endpoint,) = of_kind(render(value_set(name), f"{key}.scrapeTimeout=5s", as_json=given), kind)["spec"][
            place
        ]
        assert (endpoint["relabelings"], endpoint["metricRelabelings"]) == (rule, rule)
        assert endpoint["scrapeTimeout"] == "5s"


def test_several_pipelines_are_one_release_of_a_chart_that_names_this_one_twice(tmp_path: Path) -> None:
    umbrella = tmp_path / "pipelines"
    shutil.copytree(CHART, umbrella / "charts" / "stream-anon")
    dependencies = [{"name": "stream-anon", "version": "*", "alias": alias} for alias in ("people", "visits")]
    chart = {"apiVersion": "v2", "name": "pipelines", "version": "1.0.0", "dependencies": dependencies}
    (umbrella / "Chart.yaml").write_text(yaml.safe_dump(chart))
    values = yaml.safe_load(value_set("minimal").read_text())
    given = tmp_path / "values.yaml"
    given.write_text(yaml.safe_dump({"people": values, "visits": values}))
    done = attempt(given, chart=umbrella, release="data")
    assert done.returncode == 0, done.stderr[-2000:]
    objects = [document for document in yaml.safe_load_all(done.stdout) if document]
    assert len({(o["kind"], o["metadata"]["name"]) for o in objects}) == len(objects)
    deployments = [o for o in objects if o["kind"] == "Deployment"]
    assert len(deployments) == 2
    first, second = (o["spec"]["selector"]["matchLabels"] for o in deployments)
    assert first != second
    for document in objects:
        selector = document.get("spec", {}).get("selector", {})
        labels = selector.get("matchLabels", selector)
        chosen = [o for o in deployments if labels.items() <= o["spec"]["template"]["metadata"]["labels"].items()]
        assert not labels or len(chosen) == 1, document["kind"]


@pytest.mark.parametrize("name", ["passwordKey", "usernameKey", "tokenKey"])
def test_the_key_of_a_secret_cannot_inject_yaml(name: str) -> None:
    done = attempt(value_set("production"), as_json=(f'kafkaSecurity.sasl.{name}="a\\npath: b"',))
    assert done.returncode != 0
    assert name in done.stderr


def test_a_large_number_reaches_the_service_without_an_exponent() -> None:
    variables = environment(of_kind(render(value_set("files")), "Deployment"))
    assert variables["STREAM_ANON__WINDOW__MAX_RECORDS"] == "2000000"


def test_another_policy_restarts_the_pods(tmp_path: Path) -> None:
    changed = tmp_path / "values.yaml"
    changed.write_text(value_set("minimal").read_text().replace("k: 10", "k: 11"))

    def checksum(values: Path) -> str:
        template = of_kind(render(values), "Deployment")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/config"])

    assert checksum(value_set("minimal")) != checksum(changed)


def test_a_secret_is_neither_a_variable_nor_a_value() -> None:
    """The password is a file in a volume of the Secret; the chart's values know only names."""
    deployment = of_kind(render(value_set("production")), "Deployment")
    variables = environment(deployment)
    assert "STREAM_ANON__KAFKA__SECURITY__PASSWORD" not in variables
    assert variables["STREAM_ANON__KAFKA__SECURITY__PASSWORD_FILE"] == "/etc/stream-anon-sasl/password"  # noqa: S105
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    secrets = {volume["name"]: volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
    assert secrets == {"sasl": "kafka-user", "tls": "kafka-ca", "draws": "anonymizer-draws"}


def test_a_token_comes_from_where_it_is_renewed() -> None:
    """The service account's token is projected; one in a Secret is mounted, so that its changes arrive."""

    def mounted(*more: str) -> tuple[dict[str, str], dict[str, Any]]:
        deployment = of_kind(render(value_set("bearer"), *more), "Deployment")
        volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
        return environment(deployment), volumes["sasl"]

    variables, volume = mounted()
    token = volume["projected"]["sources"][0]["serviceAccountToken"]
    assert token == {"audience": "kafka.example", "expirationSeconds": 3600, "path": "token"}
    assert variables["STREAM_ANON__KAFKA__SECURITY__TOKEN_FILE"] == "/etc/stream-anon-sasl/token"  # noqa: S105
    assert not {"STREAM_ANON__KAFKA__SECURITY__USERNAME", "STREAM_ANON__KAFKA__SECURITY__PASSWORD_FILE"} & set(
        variables
    )
    _, volume = mounted(
        "kafkaSecurity.sasl.serviceAccountTokenAudience=", "kafkaSecurity.sasl.existingSecret=kafka-token"
    )
    assert volume["secret"]["items"] == [{"key": "token", "path": "token"}]


def test_the_secrets_of_an_openid_client_and_of_a_schema_registry_are_files() -> None:
    objects = render(value_set("openid"))
    deployment = of_kind(objects, "Deployment")
    files = {name: value for name, value in environment(deployment).items() if name.endswith("_FILE")}
    assert files == {
        "STREAM_ANON__KAFKA__SECURITY__CLIENT_SECRET_FILE": "/etc/stream-anon-sasl/client-secret",
        "STREAM_ANON__KAFKA__SECURITY__TOKEN_CA_FILE": "/etc/stream-anon-openid/ca.crt",
        "STREAM_ANON__KAFKA__SECURITY__CA_FILE": "/etc/stream-anon-tls/ca.crt",
        "STREAM_ANON__KAFKA__REGISTRY__PASSWORD_FILE": "/etc/stream-anon-registry/password",
        "STREAM_ANON__KAFKA__REGISTRY__CA_FILE": "/etc/stream-anon-registry-tls/ca.crt",
        "STREAM_ANON__KAFKA__REGISTRY__CERTIFICATE_FILE": "/etc/stream-anon-registry-tls/tls.crt",
        "STREAM_ANON__KAFKA__REGISTRY__KEY_FILE": "/etc/stream-anon-registry-tls/tls.key",
    }
    pod = deployment["spec"]["template"]["spec"]
    keys = {
        volume["secret"]["secretName"]: {item["key"] for item in volume["secret"]["items"]}
        for volume in pod["volumes"]
        if "secret" in volume
    }
    assert keys == {
        "anonymizer-openid": {"client-secret"},
        "login-ca": {"ca.crt"},
        "kafka-ca": {"ca.crt"},
        "anonymizer-registry": {"password"},
        "registry-tls": {"ca.crt", "tls.crt", "tls.key"},
    }
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounts.keys() == {volume["name"] for volume in pod["volumes"]}
    assert mounts["registry-tls"] == "/etc/stream-anon-registry-tls"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8081", "[::1]:8081/x"])
def test_a_registry_beside_the_worker_needs_no_https(host: str) -> None:
    more = (
        f"{REGISTRY}.url=http://{host}",
        "schemaRegistry.tls.existingSecret=",
        "schemaRegistry.tls.clientCertificate=false",
    )
    done = attempt(value_set("openid"), *more)
    assert done.returncode == 0, done.stderr


def test_the_name_for_a_schema_registry_may_stand_in_its_secret() -> None:
    more = ("schemaRegistry.username=", "schemaRegistry.usernameKey=name")
    container = of_kind(render(value_set("openid"), *more), "Deployment")["spec"]["template"]["spec"]["containers"][
        0
    ]
    (name,) = [each for each in container["env"] if each["name"].endswith("REGISTRY__USERNAME")]
    assert name["valueFrom"] == {"secretKeyRef": {"name": "anonymizer-registry", "key": "name"}}


def test_a_token_for_a_schema_registry_is_a_file_too() -> None:
    more = ("schemaRegistry.username=", "schemaRegistry.tokenKey=bearer")
    deployment = of_kind(render(value_set("openid"), *more), "Deployment")
    variables = environment(deployment)
    assert variables["STREAM_ANON__KAFKA__REGISTRY__TOKEN_FILE"] == "/etc/stream-anon-registry/token"  # noqa: S105
    assert not {name for name in variables if "REGISTRY__PASSWORD" in name or "REGISTRY__USERNAME" in name}
    volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
    assert volumes["registry"]["secret"]["items"] == [{"key": "bearer", "path": "token"}]


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("https://registry.example", 443),
        ("http://registry.example/apis/ccompat/v7", 80),
        ("https://registry.example:8443/", 8443),
        ("https://[2001:db8::1]:8081", 8081),
        ("https://[2001:db8::1]/x", 443),
    ],
)
def test_pods_may_reach_the_schema_registry(url: str, port: int) -> None:
    given = (
        f'settings={{"kafka": {{"registry": {{"url": "{url}"}}}}}}',
        'networkPolicy={"webTo": [{"podSelector": {}}]}',
    )
    for values, count in (("minimal", 1), ("audit", 2)):
        policies = [o for o in render(value_set(values), as_json=given) if o["kind"] == "NetworkPolicy"]
        assert len(policies) == count
        for policy in policies:
            rule = {"ports": [{"port": port, "protocol": "TCP"}], "to": [{"podSelector": {}}]}
            assert rule in policy["spec"]["egress"]


@pytest.mark.parametrize(
    ("security", "variable", "port"),
    [
        ("{}", "https://registry.example:8443", 8443),
        ("{token_endpoint: 'https://login.example/token'}", "", 443),
        ("{sasl_mechanism: AWS_MSK_IAM}", "", 443),
    ],
    ids=["variable", "endpoint in the file", "role in the file"],
)
def test_pods_may_reach_what_the_settings_file_or_a_variable_names(security: str, variable: str, port: int) -> None:
    policy = f"kafka: {{security: {security}}}\nprivacy: {{}}\nattributes: {{}}"
    extra = [{"name": "STREAM_ANON__KAFKA__REGISTRY__URL", "value": variable}]
    given = (f"policy={json.dumps(policy)}", f"extraEnv={json.dumps(extra)}")
    objects = render(value_set("minimal"), "networkPolicy.kafkaPorts={9092}", as_json=given)
    assert {"ports": [{"port": port, "protocol": "TCP"}]} in of_kind(objects, "NetworkPolicy")["spec"]["egress"]


def test_msk_with_iam_needs_a_role_and_no_secret() -> None:
    objects = render(value_set("msk"))
    egress = of_kind(objects, "NetworkPolicy")["spec"]["egress"]
    assert [rule["ports"][0]["port"] for rule in egress] == [53, 9098, 443]  # the last is of STS
    deployment = of_kind(objects, "Deployment")
    variables = environment(deployment)
    assert variables["STREAM_ANON__KAFKA__SECURITY__SASL_MECHANISM"] == "AWS_MSK_IAM"
    assert variables["STREAM_ANON__KAFKA__SECURITY__AWS_REGION"] == "eu-west-1"
    assert not {name for name in variables if "PASSWORD" in name or "USERNAME" in name or "TOKEN" in name}
    pod = deployment["spec"]["template"]["spec"]
    assert {volume["name"] for volume in pod["volumes"]} == {"config", "tmp"}
    role = {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/anonymizer"}
    assert of_kind(objects, "ServiceAccount")["metadata"]["annotations"] == role


def test_the_secrets_that_strimzi_makes_are_taken_as_they_are() -> None:
    """The name is no part of them, and the authorities of the cluster lie in another one than the user's own."""
    objects = render(value_set("strimzi"))
    deployment = of_kind(objects, "Deployment")
    variables = environment(deployment)
    assert variables["STREAM_ANON__KAFKA__SECURITY__USERNAME"] == "anonymizer"
    assert variables["STREAM_ANON__KAFKA__SECURITY__CERTIFICATE_FILE"] == "/etc/stream-anon-tls/tls.crt"
    volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
    assert volumes["sasl"]["secret"]["items"] == [{"key": "password", "path": "password"}]
    sources = {one["secret"]["name"]: one["secret"]["items"] for one in volumes["tls"]["projected"]["sources"]}
    assert sources == {
        "events-cluster-ca-cert": [{"key": "ca.crt", "path": "ca.crt"}],
        "anonymizer-tls": [{"key": "user.crt", "path": "tls.crt"}, {"key": "user.key", "path": "tls.key"}],
    }
    scaler = of_kind(objects, "TriggerAuthentication")["spec"]
    assert scaler["env"] == [{"parameter": "username", "name": "STREAM_ANON__KAFKA__SECURITY__USERNAME"}]
    named = {(one["parameter"], one["name"], one["key"]) for one in scaler["secretTargetRef"]}
    assert named == {
        ("password", "anonymizer", "password"),
        ("ca", "events-cluster-ca-cert", "ca.crt"),
        ("cert", "anonymizer-tls", "user.crt"),
        ("key", "anonymizer-tls", "user.key"),
    }


def test_every_alert_leads_to_its_own_runbook() -> None:
    def runbooks(*more: str) -> list[str]:
        (rule,) = [one for one in render(value_set("operator"), *more) if one["kind"] == "PrometheusRule"]
        return [alert["annotations"]["runbook_url"] for group in rule["spec"]["groups"] for alert in group["rules"]]

    ours = runbooks("prometheusRule.runbooks=")
    there = {page.name for page in (CHART.parents[1] / "docs" / "runbooks").glob("*.md")}
    assert {url.rpartition("/")[2] for url in ours} <= there
    kept = runbooks()
    assert kept == ["https://wiki.example/stream-anon/" + url.rpartition("/")[2] for url in ours]


def test_the_audit_runs_by_schedule_with_what_the_workers_log_in_with() -> None:
    objects = render(value_set("audit"))
    job = of_kind(objects, "CronJob")
    spec = job["spec"]["jobTemplate"]["spec"]
    template = spec["template"]
    (container,) = template["spec"]["containers"]
    assert container["args"] == [
        *("audit", "--config", "/etc/stream-anon/policy.yaml", "--since", "36h"),
        *("--metrics", "/textfile/stream_anon.prom"),
    ]
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    assert (spec["backoffLimit"], template["spec"]["restartPolicy"]) == (0, "Never")
    worker = _pod(objects)
    assert container["env"] == worker["containers"][0]["env"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in template["spec"]["volumes"]}
    assert mounted == {volume["name"] for volume in worker["volumes"]} | {"textfile"}
    shared = [volume for volume in template["spec"]["volumes"] if volume["name"] != "textfile"]
    assert shared == worker["volumes"]


def test_the_service_never_selects_a_pod_of_the_audit() -> None:
    objects = render(value_set("audit"))
    labels = of_kind(objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"]
    policies = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "NetworkPolicy"}
    for kind in ("Service", "Deployment", "PodDisruptionBudget"):
        selector = of_kind(objects, kind)["spec"]["selector"]
        assert not selector.get("matchLabels", selector).items() <= labels.items()
    workers, audits = policies["people-stream-anon"], policies["people-stream-anon-audit"]
    assert audits["podSelector"]["matchLabels"].items() <= labels.items()
    assert audits["egress"] == workers["egress"]
    assert "ingress" not in audits


def test_an_audit_runs_only_where_the_values_ask_for_it() -> None:
    assert not [o for o in render(value_set("minimal")) if o["kind"] == "CronJob"]


def test_the_scaler_asks_for_no_more_workers_than_partitions() -> None:
    for name, most in (("keda", 6), ("keda-plain", 4), ("existing-configmap", 3)):
        assert of_kind(render(value_set(name)), "ScaledObject")["spec"]["maxReplicaCount"] == most
    assert of_kind(render(value_set("autoscaling")), "HorizontalPodAutoscaler")["spec"]["maxReplicas"] == 4
    for name in ("keda", "autoscaling"):
        assert "replicas" not in of_kind(render(value_set(name)), "Deployment")["spec"]


def test_the_lag_of_an_open_window_starts_no_worker() -> None:
    trigger = of_kind(render(value_set("keda-plain")), "ScaledObject")["spec"]["triggers"][0]
    assert trigger["metadata"]["lagThreshold"] == "10000"  # twice the 5000 records of a window
    assert all(isinstance(value, str) for value in trigger["metadata"].values())


@pytest.mark.parametrize("settings", [[], ["settings.window.max_records=auto"]])
def test_where_no_number_is_chosen_two_small_windows_of_lag_are_enough_for_a_replica(settings: list[str]) -> None:
    scaled = of_kind(render(value_set("existing-configmap"), *settings), "ScaledObject")["spec"]
    assert scaled["triggers"][0]["metadata"]["lagThreshold"] == str(2 * LEAST_AUTO)
    assert scaled["minReplicaCount"] == 2


def test_the_lag_of_a_partition_whose_offset_rests_counts_unless_somebody_says_otherwise() -> None:
    """An offset rests between two windows: were that taken for no lag, no replica would come."""
    for more, expected in (([], "false"), (["keda.excludePersistentLag=true"], "true")):
        (trigger,) = of_kind(render(value_set("keda"), *more), "ScaledObject")["spec"]["triggers"]
        assert trigger["metadata"]["excludePersistentLag"] == expected


def test_the_network_policy_leads_to_the_brokers() -> None:
    plain = of_kind(render(value_set("minimal")), "NetworkPolicy")["spec"]
    assert {port["port"] for rule in plain["egress"] for port in rule["ports"]} == {53, 9092}
    closed = of_kind(render(value_set("locked-down")), "NetworkPolicy")["spec"]
    assert closed["ingress"][0]["from"]
    assert {port["port"] for rule in closed["egress"] for port in rule["ports"]} == {53, 9092, 9093, 443}


@pytest.mark.parametrize(
    ("servers", "ports"),
    [
        ("kafka-1,kafka-2", {9092}),  # without a port the service dials this one
        ("kafka-1:9093, kafka-2 ,", {9092, 9093}),
        ("10.0.0.1:19092", {19092}),
        ("[::1]:9094,[fd00::2]", {9092, 9094}),
        ("fd00::2:9095", {9092}),  # all of it is the address
    ],
)
def test_the_brokers_ports_are_those_of_their_addresses(servers: str, ports: set[int]) -> None:
    settings = {"kafka": {"bootstrap_servers": servers}}
    assert _brokers_ports(settings) == ports
    assert _brokers_ports(settings, 'networkPolicy={"kafkaPorts": [9092]}') == ports | {9092}


def test_brokers_that_only_a_variable_names_can_be_reached() -> None:
    variable = {"name": "STREAM_ANON__KAFKA__BOOTSTRAP_SERVERS", "value": "other:19092"}
    more = ('existingConfigMap="there"', 'policy=""', f"extraEnv={json.dumps([variable])}")
    assert _brokers_ports({}, *more) == {19092}


def _brokers_ports(settings: dict[str, Any], *more: str) -> set[int]:
    """Return the ports that are open beside those of name service."""
    given = (f"settings={json.dumps(settings)}", *more)
    spec = of_kind(render(value_set("minimal"), as_json=given), "NetworkPolicy")["spec"]
    ports = [port["port"] for rule in spec["egress"][1:] for port in rule["ports"]]
    assert len(set(ports)) == len(ports)
    return set(ports)


@pytest.mark.parametrize(
    "content",
    [
        "  # A comment that is indented.\nkafka: {}\nprivacy: {}\nattributes: {}\n",
        " nurse;health;*\nclerk;office;*\n",
        "\n\n  nurse;health;*",
        "nurse;health;*\r\nclerk;office;*\r\n",
        "nurse;\thealth;*\n\n\n",
        "Zürich;<&>'\"\\;{{ .Values }}\n---\n# end\n",
    ],
    ids=["comment", "space", "empty-lines", "carriage-returns", "newlines-at-the-end", "signs"],
)
@pytest.mark.parametrize("last", [False, True])
def test_every_file_is_mounted_word_for_word(content: str, last: bool) -> None:
    """Neither as the settings file nor beside it, in the middle of the object or at its end."""
    files = {"a.csv": content, "z.csv": content if last else "x"}
    policy = {"policy": content} if "privacy" in content else {}
    given = [f"{key}={json.dumps(value)}" for key, value in {**policy, "files": files}.items()]
    given += ['settings={"kafka": {"bootstrap_servers": "kafka"}}']
    data = of_kind(render(value_set("minimal"), as_json=tuple(given)), "ConfigMap")["data"]
    assert {name: data[name] for name in files} == files
    assert data["policy.yaml"] == policy.get("policy", yaml.safe_load(value_set("minimal").read_text())["policy"])


def test_a_null_value_leaves_the_decision_to_the_settings_file() -> None:
    """`null` in a value set means that the settings file decides."""
    given = ('settings={"engine": {"order": null, "name": "mondrian"}}',)
    variables = environment(of_kind(render(value_set("minimal"), as_json=given), "Deployment"))
    assert {name: value for name, value in variables.items() if "ENGINE" in name} == {
        "STREAM_ANON__ENGINE__NAME": "mondrian"
    }


def test_no_name_is_longer_than_kubernetes_allows() -> None:
    long = "n" * 62
    for more in (f"nameOverride={long}", f"fullnameOverride={long}", f"nameOverride={'n-' * 29}xxxxx"):
        for document in render(value_set("operator"), more):
            assert len(document["metadata"]["name"]) <= 63
            labels = document["metadata"]["labels"]
            assert all(re.fullmatch(r"[\w.-]{0,62}[a-zA-Z0-9]", value) for value in labels.values()), labels


@pytest.mark.parametrize("release", ["1people", "my.people"])
def test_a_release_name_that_no_service_may_have_is_refused(release: str) -> None:
    done = attempt(value_set("minimal"), release=release)
    assert done.returncode != 0
    assert "fullnameOverride: a Service's name" in done.stderr
    assert attempt(value_set("minimal"), "fullnameOverride=people", release=release).returncode == 0


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("minimal", ["policy="], "policy: give the settings file"),
        ("minimal", ["policy=a: [b"], "policy: is not valid YAML"),
        ("minimal", ["policy=kafka: {}"], "policy: has no section privacy"),
        ("minimal", ["polcy=x"], "polcy"),
        ("minimal", ["settings.window.max_recods=5"], "max_recods"),
        ("minimal", ["settings.window.max_records=1"], "max_records"),
        ("minimal", ["settings.kafka.security.protocol=SSL"], "security"),
        ("minimal", ["image.tag=latest"], "tag"),
        ("minimal", ["terminationGracePeriodSeconds=10"], "terminationGracePeriodSeconds"),
        ("minimal", ["http.adminPort=9464"], "http.adminPort: must differ"),
        ("minimal", ["kafkaSecurity.protocol=SASL_SSL"], "kafkaSecurity.sasl.existingSecret"),
        ("production", ["kafkaSecurity.sasl.serviceAccountTokenAudience=x"], "serviceAccountTokenAudience: is for"),
        ("bearer", ["keda.enabled=true"], "keda: cannot log in"),
        ("openid", ["kafkaSecurity.sasl.openId.clientId="], "kafkaSecurity.sasl.openId: is for OAUTHBEARER"),
        ("openid", ["kafkaSecurity.sasl.mechanism=PLAIN"], "kafkaSecurity.sasl.openId: is for OAUTHBEARER"),
        ("openid", ["kafkaSecurity.sasl.existingSecret="], "kafkaSecurity.sasl.existingSecret: a SASL"),
        ("openid", ["kafkaSecurity.sasl.openId.endpoint="], "kafkaSecurity.sasl.openId.endpoint: without it"),
        ("openid", ["kafkaSecurity.sasl.openId.endpoint=http://login.example"], "endpoint"),
        ("openid", ["schemaRegistry.tokenKey=token"], "schemaRegistry.username, usernameKey: go with a password"),
        ("openid", ["schemaRegistry.existingSecret="], "schemaRegistry.username, usernameKey: go with a password"),
        ("openid", ["schemaRegistry.username="], "schemaRegistry.username: a password in existingSecret needs it"),
        ("openid", [f"{REGISTRY}.url=http://registry.example"], "schemaRegistry: Secrets need an https url"),
        ("openid", [f"{REGISTRY}.url=http://localhost.example"], "schemaRegistry: Secrets need an https url"),
        (
            "openid",
            [f"{REGISTRY}.token_file=x"],
            "schemaRegistry.existingSecret: kafka.registry of the settings has a",
        ),
        (
            "openid",
            [f"{REGISTRY}.username=x", "schemaRegistry.username=", "schemaRegistry.tokenKey=x"],
            "schemaRegistry.tokenKey: kafka.registry of the settings has a username",
        ),
        ("openid", ["schemaRegistry.tls.existingSecret="], "schemaRegistry.tls.existingSecret: the client's"),
        ("minimal", ["schemaRegistry.existingSecret=x"], "schemaRegistry: the settings have no kafka.registry"),
        ("minimal", ["schemaRegistry.tokenKey=x"], "schemaRegistry.tokenKey: is a key of existingSecret"),
        ("msk", ["kafkaSecurity.sasl.awsRegion="], "kafkaSecurity.sasl.awsRegion: is for AWS_MSK_IAM"),
        ("bearer", ["kafkaSecurity.sasl.awsRegion=eu-west-1"], "kafkaSecurity.sasl.awsRegion: is for AWS_MSK_IAM"),
        ("msk", ["kafkaSecurity.protocol=SASL_PLAINTEXT"], "kafkaSecurity.protocol: AWS_MSK_IAM needs SASL_SSL"),
        ("msk", ["kafkaSecurity.sasl.existingSecret=x"], "kafkaSecurity.sasl: AWS_MSK_IAM takes no Secret"),
        ("msk", ["kafkaSecurity.sasl.awsRegion=Ireland"], "awsRegion"),
        ("msk", ["keda.enabled=true", "inputPartitions=4"], "keda: cannot log in"),
        ("minimal", ["kafkaSecurity.sasl.existingSecret=x"], "kafkaSecurity.protocol: without a SASL one"),
        ("minimal", ["kafkaSecurity.tls.existingSecret=x"], "kafkaSecurity.protocol: without SSL"),
        ("strimzi", ["kafkaSecurity.tls.existingSecret="], "beside clientSecret it must hold the authorities"),
        ("bearer", ["kafkaSecurity.protocol="], "kafkaSecurity.protocol: without a SASL one"),
        ("minimal", ["kafkaSecurity.sasl.username=x"], "kafkaSecurity.protocol: without a SASL one"),
        ("bearer", ["kafkaSecurity.protocol=SSL"], "kafkaSecurity.protocol: without a SASL one"),
        ("bearer", ["kafkaSecurity.protocol=SASL_PLAINTEXT"], "kafkaSecurity.protocol: without SSL"),
        ("keda-plain", [SECURED], "kafkaSecurity.protocol: keda does not see that the settings file says SASL_SSL"),
        ("minimal", ["policy=", "existingConfigMap=there"], "networkPolicy.kafkaPorts: no brokers are known"),
        ("minimal", ["nameOverride=a.b"], "nameOverride"),
        ("minimal", ["fullnameOverride=1a"], "fullnameOverride"),
        ("minimal", ["keda.enabled=true"], "inputPartitions: keda needs it"),
        ("minimal", ["files.policy\\.yaml=x"], "policy.yaml"),
        ("minimal", ["files.\\.\\./jobs\\.csv=x"], "../jobs.csv"),
        ("minimal", ["files.a/b=x", "files.a__b=y"], "files: a/b and a__b have one key"),
        ("keda-plain", ["keda.maxReplicas=5"], "keda.maxReplicas: 5 is above inputPartitions, 4"),
        ("keda-plain", ["keda.minReplicas=5"], "keda.minReplicas: is above maxReplicas, 4"),
        ("keda-plain", ["autoscaling.enabled=true"], "keda and autoscaling: only one"),
        ("autoscaling", ["autoscaling.maxReplicas=9"], "autoscaling.maxReplicas: 9 is above"),
        ("existing-configmap", ["settings.kafka.group="], "group"),
        ("existing-configmap", ["policy=x: 1"], "existingConfigMap: not together"),
        ("operator", ["podMonitor.enabled=true"], "scrape every pod twice"),
        ("minimal", ["serviceMonitor.enabled=true"], "networkPolicy.ingressFrom: nobody could scrape"),
        ("minimal", ["podMonitor.enabled=true"], "networkPolicy.ingressFrom: nobody could scrape"),
    ],
)
def test_values_that_cannot_work_are_refused(name: str, more: list[str], message: str) -> None:
    done = attempt(value_set(name), *more)
    assert done.returncode != 0
    assert message in done.stderr


def test_the_schema_of_the_values_allows_no_other_key() -> None:
    """Every mapping of our own in the schema is closed; only what Kubernetes itself defines is left open."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert schema["additionalProperties"] is False
    assert values.keys() == schema["properties"].keys()
    for key, value in values.items():
        if key == "global":  # other charts have values there
            continue
        node = schema["properties"][key]
        if isinstance(value, dict) and node.get("properties"):
            assert node["additionalProperties"] is False, key
            if not key.endswith(("resources", "strategy")):
                assert value.keys() <= node["properties"].keys(), key
