"""The manifests' rules are those that a fault breaks, and no file of theirs holds a secret or a moving image.

``make kubernetes-check`` holds the manifests themselves to them and to Kubernetes' schemas, and starts their parts.
"""

import copy
import importlib.util
import re

import pytest

from tests.conftest import ROOT

PLACE = ROOT / "container" / "kubernetes"
SPEC = importlib.util.spec_from_file_location("kubernetes_check", ROOT / "container" / "kubernetes_check.py")
check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check)

PART = {
    "image": "registry.example/facsimile@sha256:" + "0" * 64,
    "env": [{"name": "SYNTH_LEDGER", "value": "postgresql://clerk@ledger/ledger"}],
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
    "volumeMounts": [{"name": "state"}, {"name": "roles"}],
}
POD = {
    "automountServiceAccountToken": False,
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [PART],
    "volumes": [{"name": "roles", "configMap": {"name": "ledger-roles"}}],
}
SOUND = [
    {"kind": "ConfigMap", "metadata": {"name": "ledger-roles"}},
    {
        "kind": "StatefulSet",
        "metadata": {"name": "application"},
        "spec": {"template": {"spec": POD}, "volumeClaimTemplates": [{"metadata": {"name": "state"}}]},
    },
]
FAULTS = {
    "may run as root": lambda pod, _: pod["securityContext"].pop("runAsNonRoot"),
    "any system call": lambda pod, _: pod["securityContext"].pop("seccompProfile"),
    "has a token": lambda pod, _: pod.pop("automountServiceAccountToken"),
    "rights that it does not need": lambda _, part: part["securityContext"].update(readOnlyRootFilesystem=False),
    "not named by its digest": lambda _, part: part.update(image="postgres:15"),
    "holds a secret": lambda _, part: part["env"][0].update(value="postgresql://clerk:word@ledger/ledger"),
    "SYNTH_LEDGER_KEY holds": lambda _, part: part["env"].append({"name": "SYNTH_LEDGER_KEY", "value": "hush"}),
    "nothing is called": lambda _, part: part["volumeMounts"].append({"name": "elsewhere"}),
    "there is no": lambda pod, _: pod["volumes"][0]["configMap"].update(name="other"),
}


def test_sound_objects_break_no_rule():
    assert check.faults(SOUND) == []
    assert "lies in the open" in check.faults([{"kind": "Secret", "metadata": {"name": "s"}}])[0]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_breaks_its_rule(fault):
    objects = copy.deepcopy(SOUND)
    pod = objects[1]["spec"]["template"]["spec"]
    FAULTS[fault](pod, pod["containers"][0])
    assert len(wrong := check.faults(objects)) == 1
    assert fault in wrong[0]


def test_the_files_hold_no_secret_and_name_every_image_once():
    files = {p.name: p.read_text() for p in PLACE.iterdir()}
    text = "\n".join(files.values())
    assert not re.search(r"kind: Secret\b|stringData|://\w+:\w+@", text)
    images = set(re.findall(r"(?m)^ +image: (\S+)", text))
    assert images == set(re.findall(r"(?m)^  - name: (\S+)\n    newName", files["kustomization.yaml"]))
    assert text.count("digest: sha256:") == len(images)
    listed = re.search(r"resources: \[(.*)\]", files["kustomization.yaml"])[1].split(", ")
    assert {*listed, "kustomization.yaml", "roles.sql"} == set(files)
