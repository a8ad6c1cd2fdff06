"""What pyproject.toml cannot say: the sample table of ``data/`` goes into the wheel as ``app/sample``."""

import sys

from setuptools import find_namespace_packages, setup

packages, elsewhere = find_namespace_packages(include=["synth", "synth.*", "app", "app.*"]), {}
if "editable_wheel" not in sys.argv:  # a checkout has its own
    packages, elsewhere = [*packages, "app.sample"], {"app.sample": "data"}
setup(packages=packages, package_dir=elsewhere)
