"""Write the Grafana dashboard as JSON from the table of panels below.

    python deploy/grafana/build_dashboard.py [FILE]

FILE is `deploy/grafana/dashboards/stream-anon.json` unless given; a test compares the committed one with this.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from grafana_foundation_sdk.builders import common, dashboard, heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models import dashboard as models

TARGET = Path(__file__).parent / "dashboards" / "stream-anon.json"
SELECTOR = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
# What looks at a whole service has no instance; restarts of a pod are told under the job of kube-state-metrics.
ALERTS = (
    'ALERTS{namespace=~"$namespace", job=~"$job|.*kube-state-metrics", alertname=~"StreamAnon.*", '
    'alertstate="firing"}'
)
SERVICE = "namespace, job"  # what is asked differs between services: it is compared within each
WORKER = "namespace, job, instance"
# Stages that never run at the same time share a lane; a lane that is busy for the whole second limits the worker.
LANES = {"reading": "decode|window", "closing": "partition|gate|encode", "publishing": "publish"}
DOCS = "https://github.com/stream-anon/stream-anon/blob/main/docs/guides/operations.md"


def series(name: str, more: str = "") -> str:
    """Return the selector of one of our metrics."""
    return f"stream_anon_{name}{{{SELECTOR}{', ' + more if more else ''}}}"


def per_second(name: str, more: str = "", by: str = "") -> str:
    """Return a counter's rate, added up over the workers."""
    return f"sum{f' by ({by})' if by else ''} (rate({series(name, more)}[$__rate_interval]))"


def quantile(share: float, name: str, by: str = "") -> str:
    """Return a quantile of a histogram over all workers, or over those of each service."""
    return f"histogram_quantile({share:g}, {per_second(name + '_bucket', by=f'{by}, le' if by else 'le')})"


def mean(name: str, by: str = "") -> str:
    """Return the mean of a histogram over all workers, or over those of each service."""
    return f"{per_second(name + '_sum', by=by)} / {per_second(name + '_count', by=by)}"


def busy(stages: str) -> str:
    """Return the share of the time that a worker's stages were busy; a fleet counts as one worker, on average."""
    workers = f"({series('workers_running')} or on ({WORKER}) ({series('ready')} * 0 + 1))"
    stage = f'stage=~"{stages}"'
    return f"clamp_max({per_second('busy_seconds_total', stage, WORKER)} / on ({WORKER}) {workers}, 1)"


@dataclass(frozen=True)
class Panel:
    """One panel: its queries with their legends.

    Parameters
    ----------
    kind
        `lines`, `stack`, `number` or `heat`.
    red
        From where on a value is red.
    green
        From where on a value is green; below it is red.
    """

    title: str
    description: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: str = "lines"
    red: float | None = None
    green: float | None = None
    width: int = 8
    height: int = 7


FAILED_AUDITS = series("windows_audited_total", 'result="failed"')
SETTLED = f"({per_second('records_released_total')} + {per_second('records_suppressed_total')})"
LATE = f"{per_second('records_over_delay_budget_total')} / {per_second('delay_seconds_count')}"
LATE_END_TO_END = (
    f"{per_second('records_over_end_to_end_budget_total')} / {per_second('end_to_end_delay_seconds_count')}"
)


def budget_left(late: str, counted: str) -> str:
    """Return what the service that has the least has left of the records that may be late, in the time shown."""
    share = (
        f"sum by ({SERVICE}) (increase({series(late)}[$__range]))"
        f" / (sum by ({SERVICE}) (increase({series(counted)}[$__range])) > 0)"
    )
    return f"min(1 - {share} / 0.01) or vector(1)"


BUSIEST = " or ".join(f'label_replace({busy(stages)}, "lane", "{lane}", "", "")' for lane, stages in LANES.items())

ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "At a glance",
        (
            Panel(
                "Ready",
                "Share of the workers that can work.",
                "percentunit",
                ((f"avg({series('ready')})", "ready"),),
                kind="number",
                green=1,
                width=4,
                height=5,
            ),
            Panel(
                "Paused",
                "Workers that an operator has paused: they are ready, and read nothing.",
                "short",
                ((f"sum({series('paused')})", "paused"),),
                kind="number",
                red=1,
                width=4,
                height=5,
            ),
            Panel(
                "Firing alerts",
                "Alerts of these services that fire now.",
                "short",
                ((f"count({ALERTS}) or vector(0)", "firing"),),
                kind="number",
                red=1,
                width=4,
                height=5,
            ),
            Panel(
                "Records waiting",
                "Records that no worker has read yet.",
                "short",
                ((f"sum({series('consumer_lag_records')} >= 0)", "not read yet"),),
                kind="number",
                width=4,
                height=5,
            ),
            Panel(
                "Delay budget left",
                "Of the 1 % of the records that may be late, what is left over the time shown, for the service "
                "that has the least; below 0 more were late. Counted from the arrival at the worker, and from the "
                "broker's timestamp.",
                "percentunit",
                (
                    (budget_left("records_over_delay_budget_total", "delay_seconds_count"), "worker"),
                    (
                        budget_left("records_over_end_to_end_budget_total", "end_to_end_delay_seconds_count"),
                        "end to end",
                    ),
                ),
                kind="number",
                green=0,
                width=4,
                height=5,
            ),
            Panel(
                "Room to grow",
                "What the busiest lane of the busiest worker leaves of its time: near 0 it can take no more.",
                "percentunit",
                ((f"1 - max({BUSIEST})", "to spare"),),
                kind="number",
                green=0.15,
                width=4,
                height=5,
            ),
            Panel(
                "Saturation",
                "Share of the time that each lane of the busiest worker is busy. Reading, closing and publishing "
                "run side by side; the highest limits the worker.",
                "percentunit",
                tuple((f"max({busy(stages)})", lane) for lane, stages in LANES.items()),
                red=0.85,
                width=12,
            ),
            Panel(
                "Busy seconds by stage",
                "Seconds a second that all workers together spend in each stage.",
                "short",
                ((per_second("busy_seconds_total", by="stage"), "{{stage}}"),),
                kind="stack",
                width=12,
            ),
        ),
    ),
    (
        "Privacy",
        (
            Panel(
                "Achieved k",
                "Least number of people in a class of the last window of any worker of a service, and least number "
                "who share the values of a shield's attributes; never below what the service is asked.",
                "short",
                (
                    (f"min by ({SERVICE}) ({series('achieved_k')} > 0)", "{{namespace}} {{job}} achieved"),
                    (f"max by ({SERVICE}) ({series('policy_k')})", "{{namespace}} {{job}} asked"),
                    (
                        f"min by ({SERVICE}, shield) ({series('achieved_shield_k')} > 0)",
                        "{{namespace}} {{job}} achieved, {{shield}}",
                    ),
                    (
                        f"max by ({SERVICE}, shield) ({series('policy_shield_k')})",
                        "{{namespace}} {{job}} asked, {{shield}}",
                    ),
                ),
                width=6,
            ),
            Panel(
                "Gate violations",
                "Classes that the gate had to keep back, windows below k, and windows that failed their audit: "
                "each is a bug. Over the time shown.",
                "short",
                (
                    (f"sum(increase({series('gate_violations_total')}[$__range]))", "gate"),
                    (f"sum(increase({series('windows_below_k_total')}[$__range]))", "below k"),
                    (
                        f"sum(increase({FAILED_AUDITS}[$__range]))",
                        "audit failed",
                    ),
                ),
                kind="number",
                red=0.5,
                width=6,
            ),
            Panel(
                "Suppressed by reason",
                "Share of the records that are kept back, by reason.",
                "percentunit",
                ((f"{per_second('records_suppressed_total', by='reason')} / scalar({SETTLED})", "{{reason}}"),),
                kind="stack",
                width=6,
            ),
            Panel(
                "Windows audited",
                "Published windows that were audited again in the service; skipped ones would have cost too much.",
                "cps",
                ((per_second("windows_audited_total", by="result"), "{{result}}"),),
                kind="stack",
                width=6,
            ),
            Panel(
                "Class sizes",
                "How many classes were published of which size.",
                "short",
                ((f"sum by (le) (increase({series('class_size_records_bucket')}[$__rate_interval]))", "{{le}}"),),
                kind="heat",
                width=12,
            ),
            Panel(
                "Class size",
                "Median and 95th percentile of the records in a class.",
                "short",
                (
                    (quantile(0.5, "class_size_records"), "p50"),
                    (quantile(0.95, "class_size_records"), "p95"),
                    (mean("class_size_records"), "mean"),
                ),
                width=12,
            ),
        ),
    ),
    (
        "Utility",
        (
            Panel(
                "Information loss",
                "Mean loss (GCP) of the windows: 0 is the record as it came, 1 is nothing left.",
                "percentunit",
                (
                    (mean("window_information_loss_ratio"), "mean"),
                    (quantile(0.95, "window_information_loss_ratio"), "p95"),
                    (
                        f"max by ({SERVICE}) ({series('policy_target_loss_ratio')} > 0)",
                        "{{namespace}} {{job}} target",
                    ),
                ),
                width=12,
            ),
            Panel(
                "Information loss by attribute",
                "Mean loss (NCP) of each quasi-identifier; a suppressed record counts 1.",
                "percentunit",
                (
                    (
                        f"{per_second('attribute_information_loss_total', by='attribute')} / scalar({SETTLED})",
                        "{{attribute}}",
                    ),
                ),
                width=12,
            ),
            Panel(
                "Leakage by attribute",
                "What an attribute gives, of all that tells one person from the others, to somebody who knows it: "
                "by the true values (before: a window an hour, with noise) and by what was released (after: a "
                "window a minute). There is no before where windows have too few people: about 1,000 with two "
                "quasi-identifiers, 2,000 with eight.",
                "percentunit",
                (
                    (
                        f"max by (attribute, stage) ({series('information_leakage_ratio')})",
                        "{{attribute}}, {{stage}}",
                    ),
                ),
            ),
            Panel(
                "Missing values by attribute",
                "Share of the records without a value, of attributes that are published.",
                "percentunit",
                (
                    (
                        f"{per_second('records_missing_total', by='attribute')} / scalar({SETTLED})",
                        "{{attribute}}",
                    ),
                ),
            ),
            Panel(
                "Records per window",
                "Larger windows lose less. The bound is max_records, or what memory and time have shown to allow.",
                "short",
                (
                    (mean("window_size_records", SERVICE), "{{namespace}} {{job}} mean"),
                    (f"min by ({SERVICE}) ({series('window_bound_records')})", "{{namespace}} {{job}} bound"),
                ),
                width=8,
            ),
            Panel(
                "Fill of windows",
                "Admitted records as a share of the bound when a window closes. Well below 100 % of a chosen "
                "max_records, fewer workers or a longer max_delay lose less information, unless target_loss closes "
                "windows.",
                "percentunit",
                ((mean("window_fill_ratio", SERVICE), "{{namespace}} {{job}}"),),
                width=8,
            ),
            Panel(
                "Size of windows",
                "Where target_loss is given: the records that a window needs for it, those that come within "
                "max_delay, and those at which windows close. Where the first is above the second, the loss stays "
                "above its target.",
                "short",
                tuple(
                    (f"max by ({SERVICE}) ({series(name)} > 0)", f"{{{{namespace}}}} {{{{job}}}} {legend}")
                    for name, legend in (
                        ("window_target_records", "for the target"),
                        ("window_delay_records", "by delay"),
                        ("window_limit_records", "in use"),
                    )
                ),
                width=8,
            ),
        ),
    ),
    (
        "Delay",
        (
            Panel(
                "Delay",
                "From a record's arrival at the worker to its publication.",
                "s",
                (
                    (quantile(0.5, "delay_seconds", SERVICE), "{{namespace}} {{job}} p50"),
                    (quantile(0.99, "delay_seconds", SERVICE), "{{namespace}} {{job}} p99"),
                    (
                        f"max by ({SERVICE}) ({series('policy_delay_budget_seconds')})",
                        "{{namespace}} {{job}} budget",
                    ),
                ),
            ),
            Panel(
                "End-to-end delay",
                "From the broker's timestamp of a record to its publication: waiting in the topic included.",
                "s",
                (
                    (quantile(0.5, "end_to_end_delay_seconds"), "p50"),
                    (quantile(0.95, "end_to_end_delay_seconds"), "p95"),
                    (quantile(0.99, "end_to_end_delay_seconds"), "p99"),
                ),
            ),
            Panel(
                "Burn of the delay budget",
                "Late records against the 1 % that is allowed: at 1 the allowance of a month lasts a month.",
                "short",
                ((f"({LATE}) / 0.01", "since arrival"), (f"({LATE_END_TO_END}) / 0.01", "end to end")),
                red=14.4,
            ),
            Panel(
                "Window age",
                "How long the oldest record of each open window waits.",
                "s",
                (
                    (series("window_oldest_age_seconds"), "{{instance}}"),
                    (
                        f"max by ({SERVICE}) ({series('policy_max_delay_seconds')})",
                        "{{namespace}} {{job}} max_delay",
                    ),
                ),
            ),
            Panel(
                "Stages of a closing",
                "Mean time by stage: close holds the gate, publish holds the commit.",
                "s",
                tuple(
                    (mean(f"{stage}_duration_seconds"), stage)
                    for stage in ("close", "gate", "encode", "publish", "commit", "audit")
                ),
            ),
            Panel(
                "Closing and pausing",
                "Share of the workers that close a window, or wait for one before they read on.",
                "percentunit",
                (
                    (f"avg({series('window_closing')})", "closing"),
                    (f"avg({series('consumer_paused')})", "reading waits"),
                ),
            ),
        ),
    ),
    (
        "Flow",
        (
            Panel(
                "In and out",
                "Records read, published, kept back and turned away.",
                "cps",
                (
                    (per_second("records_consumed_total"), "in"),
                    (per_second("records_released_total"), "released"),
                    (per_second("records_suppressed_total"), "suppressed"),
                    (per_second("dead_letters_total"), "dead letters"),
                    (per_second("records_ignored_total"), "ignored"),
                    (per_second("records_read_singly_total"), "read one by one"),
                    (per_second("values_coerced_total"), "texts taken for numbers"),
                    (per_second("reading_faults_total"), "reading faults"),
                ),
            ),
            Panel(
                "Dead letters by reason",
                "Records that do not fit the policy.",
                "cps",
                ((per_second("dead_letters_total", by="reason"), "{{reason}}"),),
                kind="stack",
            ),
            Panel(
                "Ignored by reason",
                "Records that hold no row, such as deletions in a change stream; they are no dead letters.",
                "cps",
                ((per_second("records_ignored_total", by="reason"), "{{reason}}"),),
                kind="stack",
            ),
            Panel(
                "Lag",
                "Records that no worker has read yet.",
                "short",
                (
                    (f"sum({series('consumer_lag_records')} >= 0)", "not read yet"),
                    (f"sum({series('records_behind_open_transaction')})", "behind an open transaction"),
                ),
            ),
            Panel(
                "Held by transactions",
                "How long an input partition, or the ledger, has stood at the same open transaction of a producer.",
                "s",
                (
                    (series("input_held_seconds"), "input, {{instance}}"),
                    (series("ledger_held_seconds"), "ledger, {{instance}}"),
                ),
            ),
            Panel(
                "Open windows",
                "Records read into the open windows; count and age are all that is shown of them.",
                "short",
                ((series("window_records"), "{{instance}}"),),
            ),
            Panel(
                "Windows",
                "Windows published, abandoned (they are read again), closed later than max_delay, and those that "
                "suppress more records than max_suppressed.",
                "cps",
                (
                    (per_second("windows_published_total"), "published"),
                    (per_second("windows_abandoned_total"), "abandoned"),
                    (per_second("windows_overdue_total"), "overdue"),
                    (per_second("windows_above_max_suppressed_total"), "above max_suppressed"),
                ),
            ),
            Panel(
                "Since the last release",
                "Time since any worker published a window.",
                "s",
                ((f"time() - max({series('last_release_timestamp_seconds')})", "since"),),
                kind="number",
            ),
        ),
    ),
    (
        "Kafka",
        (
            Panel(
                "Transactions",
                "By outcome; fenced and lost ones published nothing and are read again.",
                "cps",
                ((per_second("transactions_total", by="outcome"), "{{outcome}}"),),
                kind="stack",
            ),
            Panel(
                "Partitions owned",
                "By worker; a worker with none stands by. Workers with partitions: 0 in a group that spreads them.",
                "short",
                (
                    (series("partitions_owned"), "{{instance}}"),
                    (
                        f"max by ({SERVICE}) ({series('workers_with_partitions')})",
                        "{{job}}: workers with partitions",
                    ),
                ),
                kind="stack",
            ),
            Panel(
                "Busy share",
                "Share of the last minute in which a worker read records, closed a window, or was paused because "
                "windows waited. A group that packs its partitions goes by it and by what waits: a load above 60 % "
                "is shared, two below 20 % are joined up.",
                "percentunit",
                ((series("busy_ratio"), "{{instance}}"),),
                red=0.85,
            ),
            Panel(
                "Partitions of the input",
                "Those that the input has, and those that workers own; records of the rest are not released.",
                "short",
                (
                    (f"sum(max by (namespace, job, topic) ({series('input_partitions')}))", "of the input"),
                    (f"sum({series('partitions_owned')})", "owned"),
                ),
            ),
            Panel(
                "Partitions not read",
                "Stopped partitions that wait for an operator, those left to a newer policy, and a pause.",
                "short",
                (
                    (f"sum({series('partitions_not_read')})", "stopped"),
                    (f"sum({series('partitions_superseded')})", "left to a newer policy"),
                    (f"max({series('paused')})", "paused by an operator"),
                ),
                kind="number",
                red=1,
            ),
            Panel(
                "Rebalances",
                "Changes of the partitions owned.",
                "cps",
                ((per_second("rebalances_total", by="change"), "{{change}}"),),
            ),
            Panel(
                "Read again",
                "Records that left an open window because their partition moved, and records read again after.",
                "cps",
                (
                    (per_second("takeover_dropped_records_total"), "dropped"),
                    (per_second("takeover_reread_records_total"), "read again"),
                ),
            ),
            Panel(
                "Outages",
                "Times the broker, or the schema registry, was away, by what the worker was doing.",
                "cps",
                ((per_second("broker_outages_total", by="activity"), "{{activity}}"),),
            ),
            Panel(
                "Changed schemas",
                "Declared fields that a schema lacks or has otherwise than the one before, and unreadable schemas.",
                "cps",
                ((per_second("schema_changes_total", by="change"), "{{change}}"),),
            ),
            Panel(
                "Throttled",
                "Time of each second that brokers' quotas or a limit on processor time hold workers back.",
                "percentunit",
                ((per_second("throttled_seconds_total", by="by"), "{{by}}"),),
            ),
            Panel(
                "Clocks",
                "Times that the time of day of a worker's machine was set by more than five seconds.",
                "cps",
                ((per_second("clock_steps_total", by="direction"), "{{direction}}"),),
            ),
            Panel(
                "Input ahead of the clock",
                "By how much a record of the last window was dated ahead of the worker's time of day.",
                "s",
                ((series("input_ahead_seconds"), "{{instance}}"),),
            ),
        ),
    ),
    (
        "Process",
        (
            Panel(
                "Processor",
                "Cores used by each worker.",
                "short",
                ((f"rate(process_cpu_seconds_total{{{SELECTOR}}}[$__rate_interval])", "{{instance}}"),),
            ),
            Panel(
                "Memory",
                "Resident memory of each worker.",
                "bytes",
                ((f"process_resident_memory_bytes{{{SELECTOR}}}", "{{instance}}"),),
            ),
            Panel(
                "Workers",
                "Workers that can work, and how many there are.",
                "short",
                (
                    (f"sum({series('ready')})", "ready"),
                    (f"count({series('ready')})", "all"),
                ),
            ),
            Panel(
                "Software",
                "Workers by version and revision of the source; two at once mean a roll-out.",
                "short",
                ((f"count by (version, revision) ({series('build_info')})", "{{version}} {{revision}}"),),
                kind="number",
                width=12,
                height=5,
            ),
            Panel(
                "Policy",
                "Workers by policy, engine and delivery; two policies at once mean a roll-out.",
                "short",
                (
                    (
                        f"count by (policy, engine, delivery, revision) ({series('policy_info')})",
                        "{{engine}} {{delivery}} {{policy}}",
                    ),
                ),
                kind="number",
                width=12,
                height=5,
            ),
        ),
    ),
)


def build() -> str:
    """Return the dashboard as JSON."""
    page = (
        dashboard.Dashboard("stream-anon")
        .uid("stream-anon")
        .description(
            "k-anonymous streams: how they stand, privacy, utility, delay, flow, Kafka and process of the workers."
        )
        .tags(["stream-anon", "kafka", "privacy"])
        .readonly()
        .refresh("10s")
        .time("now-1h", "now")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            dashboard.DashboardLink("Operations").type(models.DashboardLinkType.LINK).url(DOCS).target_blank(True)
        )
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        # Where nothing has a namespace, as under Compose, a missing label must match too.
        .with_variable(
            _variable("namespace", "Namespace", "label_values(stream_anon_build_info, namespace)").all_value(".*")
        )
        .with_variable(
            _variable("job", "Job", 'label_values(stream_anon_build_info{namespace=~"$namespace"}, job)')
        )
        .with_variable(
            _variable(
                "instance",
                "Instance",
                'label_values(stream_anon_build_info{namespace=~"$namespace", job=~"$job"}, instance)',
            )
        )
    )
    numbers = count(1)
    for title, panels in ROWS:
        page = page.with_row(dashboard.Row(title).id(next(numbers)))
        for panel in panels:
            page = page.with_panel(_panel(panel).id(next(numbers)))
    return JSONEncoder(sort_keys=True, indent=2).encode(page.build()) + "\n"


def _variable(name: str, label: str, query: str) -> dashboard.QueryVariable:
    everything = models.VariableOption(selected=True, text="All", value="$__all")
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .query(query)
        .datasource(_datasource())
        .multi(True)
        .include_all(True)
        .all_value(".+")
        .current(everything)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )


def _datasource() -> common.DataSourceRef | models.DataSourceRef:
    return models.DataSourceRef(type_val="prometheus", uid="$datasource")


def _panel(panel: Panel) -> timeseries.Panel | stat.Panel | heatmap.Panel:
    built: timeseries.Panel | stat.Panel | heatmap.Panel
    if panel.kind == "number":
        built = _number()
    elif panel.kind == "heat":
        built = heatmap.Panel().calculate(False)
    else:
        built = _lines(stacked=panel.kind == "stack")
    built = (
        built.title(panel.title)
        .description(panel.description)
        .unit(panel.unit)
        .datasource(_datasource())
        .span(panel.width)
        .height(panel.height)
    )
    if panel.green != 0:  # else it may fall below 0, and that is what must be seen
        built = built.min(0)
    if panel.green is not None:
        built = built.thresholds(_thresholds(("red", None), ("green", panel.green)))
    if panel.red is not None:
        built = built.thresholds(_thresholds(("green", None), ("red", panel.red)))
        if isinstance(built, timeseries.Panel):
            built = built.thresholds_style(
                common.GraphThresholdsStyleConfig().mode(options.GraphThresholdsStyleMode.DASHED)
            )
    for number, (expression, legend) in enumerate(panel.queries):
        query = prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + number))
        query = query.instant() if panel.kind == "number" else query.range()
        built = built.with_target(query.format("heatmap") if panel.kind == "heat" else query)
    return built


def _lines(*, stacked: bool) -> timeseries.Panel:
    panel = (
        timeseries.Panel()
        .line_width(1)
        .fill_opacity(30 if stacked else 8)
        .show_points(options.VisibilityMode.NEVER)
        .tooltip(common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI))
        .legend(
            common.VizLegendOptions()
            .display_mode(options.LegendDisplayMode.LIST)
            .placement(options.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(options.StackingMode.NORMAL))
    return panel


def _number() -> stat.Panel:
    return (
        stat.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .graph_mode(options.BigValueGraphMode.NONE)
        .text_mode(options.BigValueTextMode.VALUE_AND_NAME)
    )


def _thresholds(*steps: tuple[str, float | None]) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=value, color=color) for color, value in steps])
    )


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET).write_text(build())
