"""The manifests of a folder such as env/kubernetes, as YAML gives them."""
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "env/kubernetes"
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400,
         "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
         "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}


def quantity(text):
    """Return seconds or bytes: "1.5s", "32MiB", of Kubernetes "512Mi"."""
    number, unit = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", str(text)).groups()
    return float(number) * UNITS[unit]


class Manifests:
    """objects: all, by kind, of which there is one each. The rest are parts of them that several tests need."""

    def __init__(self, folder=FOLDER):
        self.folder, self.objects, self.kustomization = folder, {}, None
        for path in sorted(folder.glob("*.yaml")):
            document = yaml.safe_load(path.read_text())
            if document["kind"] == "Kustomization":
                self.kustomization = document
            elif document["kind"] in self.objects:
                raise ValueError(f"{path.name}: a second {document['kind']}")
            else:
                self.objects[document["kind"]] = document
        self.deployment = self.objects["Deployment"]["spec"]
        self.pod = self.deployment["template"]["spec"]
        self.container, = self.pod["containers"]
        self.secret = self.objects["Secret"]["stringData"]

    def environment(self):
        """The container's variables, with the values of the Secret."""
        return {variable["name"]: variable["value"] if "value" in variable
                else self.secret.get(variable["valueFrom"]["secretKeyRef"]["key"], "")
                for variable in self.container["env"]}

    def configuration(self):
        return self.objects["ConfigMap"]["data"]["wpool.yaml"]

    def probes(self):
        """{name: httpGet}"""
        return {name: self.container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")
                if name in self.container}

    def volume(self, kind):
        """{mountPath: volume} of a kind such as emptyDir."""
        volumes = {volume["name"]: volume for volume in self.pod["volumes"] if kind in volume}
        return {mount["mountPath"]: volumes[mount["name"]] for mount in self.container["volumeMounts"]
                if mount["name"] in volumes}
