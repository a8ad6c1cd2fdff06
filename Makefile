# Everything runs inside .venv, which is made from requirements.txt by Python 3.11 alone.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PORT ?= 8501

.PHONY: extras dist image image-check test-quick audit-whole fuzz faults race attacks soak lock sbom licences pip-audit setup run test test-slow check format bench bench-audit bench-flagship bench-tables bench-embeddings bench-slicing bench-gradients bench-families bench-ledger bench-plan bench-rows bench-draw bench-device bench-quick bench-peers bench-scaling docs texts figures clean bench-risks bench-judges bench-sdnist bench-inference race-server kubernetes-check cluster bench-cluster

NEEDS := requirements.txt pyproject.toml setup.py container/install.sh container/pick.py container/trim.py
INSTALL := PYTHON=$(PYTHON) sh container/install.sh .venv --editable

setup: .venv/ready  ## everything: the application, all extras, the tools of the tests

.venv/ready: $(NEEDS)
	$(INSTALL) --extras all
	rm -f .venv/ready*
	touch .venv/ready-app $@

COMMA := ,
LEFT_OUT := $(if $(WITHOUT),-without-$(subst $(COMMA),-,$(WITHOUT)))
.venv/ready-app$(LEFT_OUT): $(NEEDS)
	$(INSTALL) $(if $(WITHOUT),--without $(WITHOUT))
	rm -f .venv/ready*
	touch $@

extras: .venv/ready-app  ## EXTRAS=databases,spark,delta,mbi,report,fetch,pdf,labelled,gpu or some of them, beside the application
	$(INSTALL) --extras $(EXTRAS)

TERMS := 'SDMetrics, for the tab Scores, needs copulas under BUSL-1.1: no commercial synthetic-data service for third parties.' \
	'make run WITHOUT=report leaves both out.'
run: .venv/ready-app$(LEFT_OUT)  ## the application, with the sample table ready; WITHOUT=report: without SDMetrics
	@if $(BIN)/python -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("copulas"))'; then printf '%s\n' $(TERMS); fi
	$(BIN)/synth app --port $(PORT)

# One process more than two cores: where one waits for a browser, a server or a disk, the others work.
# The tests that take longest are named at the end, so that a change that makes the suite slow is seen.
SUITE := $(BIN)/python -m pytest -n 3 --dist loadgroup --durations=40 --durations-min=5
test: setup  ## the whole suite
	$(SUITE)

QUICK := tests/test_architecture.py tests/laws tests/conformance/test_generators.py tests/unit/privacy tests/unit/pipeline
test-quick: setup  ## the laws, every method on a tiny table, the door, the ledger; no browser
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m 'not slow and not long' $(QUICK)

test-slow: setup  ## what `make test` leaves out: whole products of cases, heavy statistics, longer journeys
	$(BIN)/python -m pytest -m slow

check: setup  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

FRESH ?=  # --fresh measures again what the files of results hold; what is there is passed over otherwise
bench: bench-flagship bench-tables bench-embeddings bench-slicing bench-plan bench-audit bench-peers bench-scaling  ## every figure of the docs; hours on two cores

bench-flagship: setup  ## docs/benchmarks.md; needs the public tables beside the checkout
	$(BIN)/python benchmarks/flagship.py $(FRESH)

bench-tables: setup  ## docs/benchmarks.md; needs the public tables beside the checkout
	$(BIN)/python benchmarks/tables.py $(FRESH)
	$(BIN)/python benchmarks/flagship.py --tables diabetes,nist,credit,acs5yr --epsilons 1 --json benchmarks/results/hard.json $(FRESH)
	$(BIN)/python benchmarks/flagship.py --tables diabetes --epsilons 5.1 --method mixture --json benchmarks/results/wide.json $(FRESH)

bench-embeddings: setup  ## docs/generators/embeddings.md; needs the public tables
	$(BIN)/python benchmarks/embeddings.py $(FRESH)

bench-slicing: setup  ## docs/generators/slicing.md; needs the public tables
	$(BIN)/python benchmarks/slices_accounting.py $(FRESH)
	$(BIN)/python benchmarks/table1.py $(FRESH)
	$(BIN)/python benchmarks/table1.py --steps $(FRESH)

bench-gradients: setup  ## docs/benchmarks.md; needs the public tables
	$(BIN)/python benchmarks/flagship.py --tables acs --method dp_ctgan,pate_gan,dp_vae --seeds 1 --json benchmarks/results/gradients.json $(FRESH)

bench-families: setup  ## docs/benchmarks.md; needs the public tables
	$(BIN)/python benchmarks/families.py $(FRESH)

bench-audit: setup  ## docs/audit.md: planted faults, bare mechanisms, methods, capacity
	$(BIN)/python benchmarks/audit.py $(FRESH)

audit-whole: setup  ## docs/audit.md, the whole way: planted faults from file to release, and sound runs; minutes
	$(BIN)/python benchmarks/audit_whole.py

bench-quick: setup  ## six methods on one table in minutes; needs the public tables
	$(BIN)/python benchmarks/peers.py --tables acs --epsilons 1 --seeds 1 --methods independent,mixture,slicing,dp_kernel,mst,aim --json benchmarks/results/quick.json --fresh

bench-peers: setup  ## docs/benchmarks.md, every method beside its rivals; goes on where it was stopped
	$(BIN)/python benchmarks/peers.py $(FRESH)

bench-risks: setup  ## docs/release.md: attacks on releases and leaks, beside anonymeter in an environment of its own
	$(BIN)/python benchmarks/risks.py $(FRESH)

bench-judges: setup  ## docs/benchmarks.md: SynthEval's scores of our tables, in an environment of its own
	$(BIN)/python benchmarks/outside_judges.py $(FRESH)

bench-inference: setup  ## docs/inference.md: whether intervals cover; goes on where it was stopped; hours
	$(BIN)/python benchmarks/inference.py --multiple 100 $(FRESH)

bench-sdnist: setup  ## docs/benchmarks.md: NIST's own score, in an environment of its own
	$(BIN)/python benchmarks/k_marginal.py $(FRESH)

bench-scaling: setup  ## cost in rows, columns and categories; goes on where it was stopped
	$(BIN)/python benchmarks/scaling.py $(FRESH)

bench-rows: setup  ## docs/benchmarks.md, counting: 100 million rows; 5 GB of temporary files, an hour on two cores
	$(BIN)/python benchmarks/rows.py $(FRESH)

bench-device: setup  ## processor beside GPU, three sizes, ten minutes: benchmarks/results/device.json
	$(BIN)/python benchmarks/scaling.py --devices cpu,$(or $(DEVICE),cuda) --rows 1000,10000,100000 --columns "" --categories "" \
		--methods "mixture,slicing loss=kl,dp_kernel,dp_kernel form=gaussian,dp_merf" \
		--most-seconds 18 --json benchmarks/results/device.json

bench-draw: setup  ## docs/benchmarks.md, rows a second; needs the public tables
	$(BIN)/python benchmarks/draw.py $(FRESH)

bench-ledger: setup  ## docs/ledger.md: check, spend, page, verify on 10,000 and 100,000 lines; minutes
	$(BIN)/python benchmarks/ledger.py $(FRESH)
	$(BIN)/python benchmarks/ledger.py --lines 10000 --server --json benchmarks/results/ledger-server.json

bench-plan: setup  ## how far forecasts of time and memory are off
	$(BIN)/python benchmarks/forecast.py $(FRESH)

SECONDS ?= 3600
fuzz: setup  ## damaged files for an hour, or SECONDS; findings are kept in build/found
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --keep build/found

cluster: setup  ## a whole run on a Spark cluster of processes of which one dies; needs Java and 4 GB
	$(BIN)/python -m tests.cluster_journey

bench-cluster: setup  ## docs/container.md: runs by workers, rows drawn; an hour
	$(BIN)/python benchmarks/cluster.py $(FRESH)

FAULTS := benchmarks/results/faults.json
faults: setup  ## a fault at every system call of a spend, a restore, a first start, a bundle and a run; needs a C compiler
	for deed in spend restore first bundle job; do $(BIN)/python tests/faults/injecting.py $$deed --keep $(FAULTS) || exit 1; done

race: setup  ## a thousand requests at once for one budget
	$(BIN)/python benchmarks/race.py --processes 20 --threads 50

race-server: setup  ## the same from four servers, for a ledger on PostgreSQL
	$(BIN)/python benchmarks/race.py --processes 4 --threads 250 --server --json benchmarks/results/race-server.json

kubernetes-check: setup build/kubernetes/ready  ## the manifests by Kubernetes' schemas; their parts, started by hand
	build/kubernetes/bin/python container/kubernetes_check.py
	build/kubernetes/bin/python container/kubernetes_check.py --render | $(BIN)/python container/kubernetes_check.py --start

build/kubernetes/ready:
	$(PYTHON) -m venv build/kubernetes
	build/kubernetes/bin/pip install -q kubernetes-validate==1.37.0
	touch $@

attacks: setup  ## precision attacks on our noise and on naive noise
	$(BIN)/python benchmarks/attacks.py --json benchmarks/results/attacks.json

MINUTES ?= 30
soak: setup  ## runs, cancels, kills and restarts at random on the application and the command line
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

.venv-tools/ready: container/tools.txt
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check -r container/tools.txt
	touch $@

lock: .venv-tools/ready  ## requirements.txt, the one lock, from pyproject.toml
	.venv-tools/bin/python container/lock.py

dist: sbom licences  ## dist/: wheel and sdist of HEAD, SBOM, licences, checksums; SIGN=KEY signs these
	.venv-tools/bin/python container/dist.py $(SIGN)

TAG ?= facsimile
image:  ## the image, by buildah; EXTRAS, WITHOUT, BASE as the Dockerfile has them (docs/container.md)
	sh container/image.sh $(TAG)

image-check:  ## starts the built image as it is meant to run: a run, a bundle, a database, the application; as root
	sh container/image-check.sh $(TAG)

sbom: setup .venv-tools/ready  ## what the environment holds, as CycloneDX: build/sbom.json
	mkdir -p build
	.venv-tools/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --of JSON -o build/sbom.json

licences: setup .venv-tools/ready  ## build/licences.md; fails for a licence that nobody has looked at
	.venv-tools/bin/python container/licences.py

pip-audit: .venv-tools/ready  ## known vulnerabilities of the locked packages; says so where nothing can be asked
	.venv-tools/bin/python container/audit.py

.venv-docs/ready: docs/site/requirements.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -r docs/site/requirements.txt
	touch $@

docs: .venv-docs/ready setup  ## the documentation as a site, build/site/html; a dead link or a page in no index ends it
	mkdir -p build && $(BIN)/python benchmarks/docs_figures.py --show all > build/figures.md
	$(BIN)/python -m typer synth.cli utils docs --name synth > build/commands.md
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python docs/site/build.py

texts: setup  ## the catalogues of translations (synth/languages), from the texts in the code
	$(BIN)/python container/texts.py

figures: setup  ## every table of figures in docs/, written from benchmarks/results
	$(BIN)/python benchmarks/docs_figures.py

clean:
	rm -rf .venv .venv-tools .venv-docs build .pytest_cache .mypy_cache .ruff_cache *.egg-info
