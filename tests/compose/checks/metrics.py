"""The profile metrics: Prometheus finds all supervisors, and its rules and the dashboard work on what it has."""
import json
import re
import urllib.parse

from engine import Failure, await_for, docker
from project import get_json
from traffic import COUNT, QUEUE, SECONDS

PROMETHEUS = "http://127.0.0.1:9090/api/v1"
DASHBOARD = "env/grafana/dashboards/wpool.json"
# What Grafana puts in for "all", and for its own intervals.
VARIABLES = {"$instance": ".*", "$pool": ".*", "$__rate_interval": "1m", "$__range": "5m"}


def ask(path):
    return (get_json(f"{PROMETHEUS}/{path}") or {}).get("data") or {"result": [], "groups": []}


def query(expression, at=None):
    return ask("query?" + urllib.parse.urlencode({"query": expression, **({"time": at} if at else {})}))["result"]


def number(expression):
    """Return the value of an expression that has one, or None."""
    found = query(expression)
    return float(found[0]["value"][1]) if found else None


def metrics(project):
    """Prometheus scrapes each of two supervisors and the broker, and keeps what it has. Rules and dashboard are right."""
    project.compose.profiles = ["metrics"]
    project.up("--scale", "supervisor=2")
    project.await_all_ready(4)
    await_for("Prometheus scrapes two supervisors", lambda: number('sum(up{job="wpool"})') == 2, SECONDS)
    await_for("Prometheus scrapes the broker", lambda: number('sum(up{job="broker"})') == 1, SECONDS)
    for alarm in ("free_disk_space", "memory_used"):
        await_for(f"the alarm {alarm} is known", lambda: query(f"rabbitmq_alarms_{alarm}_watermark"), SECONDS)
    rules = await_for("all rules are evaluated", rules_if_evaluated, SECONDS)
    count_deliveries(project)
    expressions = evaluate_dashboard(project)
    project.up("--scale", "supervisor=1")
    await_for("the supervisor that is gone is no target", lambda: number('count(up{job="wpool"})') == 1, SECONDS)
    if firing := [alert["labels"] for alert in ask("alerts").get("alerts", []) if alert["state"] == "firing"]:
        raise Failure(f"alerts without a reason: {firing}")
    keep_data(project)
    return f"two supervisors and the broker scraped, {rules} rules evaluated, {expressions} expressions of the dashboard, data kept"


def rules_if_evaluated():
    rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
    if bad := [rule for rule in rules if rule["health"] == "err"]:
        raise Failure(f"{bad[0]['name']}: {bad[0].get('lastError')}")
    return len(rules) if rules and all(rule["health"] == "ok" for rule in rules) else None


def count_deliveries(project):
    """The supervisors' counters are not mixed: their sum is right, and none seems to restart."""
    series = f'wpool_deliveries_total{{pool="{QUEUE}"}}'
    project.traffic.publish("metrics", range(COUNT))
    project.traffic.account("metrics", COUNT)
    project.compose("stop", "publisher")
    real = sum(project.figure(container, QUEUE, "totals", "deliveries") for container in project.compose.containers("supervisor"))
    await_for(f"Prometheus counts {real} deliveries", lambda: number(f"sum({series})") == real, SECONDS)
    if restarts := number(f"sum(resets({series}[5m]))"):
        raise Failure(f"counters seem to restart: {restarts}")
    project.compose("start", "publisher")


def evaluate_dashboard(project):
    """Each expression of the dashboard has a value. Those that end in `> 0` may have none, and those of metrics that no pool here
    has, as of sessions (the system test `metrics` knows all names). Return how many there are."""
    dashboard = json.loads((project.compose.folder / DASHBOARD).read_text())
    known = set(ask("label/__name__/values"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    for expression in expressions:
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        if re.search(r"\$\w", expression):
            raise Failure(f"a variable without a value: {expression}")
        if not expression.endswith("> 0") and known.issuperset(re.findall(r"\bwpool_\w+", expression)):
            await_for(f"a value of {expression}", lambda: query(expression), SECONDS)
        elif (get_json(f"{PROMETHEUS}/query?" + urllib.parse.urlencode({"query": expression})) or {}).get("status") != "success":
            raise Failure(f"Prometheus refuses {expression}")
    return len(expressions)


def keep_data(project):
    at = float(query('timestamp(up{job="wpool"})')[0]["value"][1])
    docker("exec", project.compose.container("grafana"), "touch", "/var/lib/grafana/kept")
    project.up("--force-recreate", "prometheus", "grafana")
    await_for("Prometheus has what it had", lambda: query('up{job="wpool"}', at), SECONDS)
    docker("exec", project.compose.container("grafana"), "test", "-e", "/var/lib/grafana/kept")


CHECKS = (metrics,)
