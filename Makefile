# Developer commands; `make help` lists them.
# A fresh machine needs Python 3.11 or newer, and make; the rest is installed into .venv.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Pinned files, each by its hash; `make lock` writes the lists.
LOCKED := $(PIP) --require-hashes --requirement
UV := $(BIN)/uv
SITE_TOOLS := build/site-tools/bin/python
COMPILE := $(UV) pip compile --quiet --universal --generate-hashes --no-emit-index-url --python-version 3.11 \
	--custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)
# A folder of recorded cases to score instead of the repository's, such as newer recordings.
VECTORS ?= tests/recorded
SEEDS ?= $(or $(TRAINC_SEEDS),../shared/seeds)
PROCESSES ?= 2
# Every use of a runtime dependency: reading, schemas, templates, overlays, goldens, recorded cases.
BOUNDED ?= tests/kube tests/schema tests/pods tests/reading tests/project tests/features/migration/v1 tests/pipeline tests/testing tests/emit tests/admission tests/test_conformance.py tests/test_golden.py tests/test_golden_errors.py tests/findings/test_rules.py
# The Python of a distribution is optimized, as those of python.org, of uv and of the images are.
BENCH_PYTHON ?= $(or $(firstword $(wildcard /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11)),$(BIN)/python)
SECONDS ?= 60
TARGETS ?= reader quantity merge pipeline templates rewriting commands editing shell cel

.DEFAULT_GOAL := help
# Tests start hundreds of processes: what one has compiled of Python serves the others.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup demo test test-room test-months test-run e2e test-editors test-quick port lint format golden schemas docs diagnostics conformance ecosystem dist playground test-playground test-report lock release-check sbom audit test-bounds bench ceilings growth fuzz coverage mutants site pictures test-site clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## install trainc and what its development needs into .venv

# What compiling needs, and no more, so that `make demo` works without the test tools.
$(INSTALLED): pyproject.toml tools/locks/runtime.txt
	@test -n "$(PYTHON)" || { echo 'trainc needs Python 3.11 or newer; name one with make PYTHON=/path/to/python' >&2; exit 2; }
	@echo 'setting up $(VENV), once' >&2
	@$(PYTHON) -m venv $(VENV) >&2
	@$(LOCKED) tools/locks/runtime.txt >&2
	@$(PIP) --no-deps --no-build-isolation --editable . >&2
	@touch $@

$(READY): $(INSTALLED) tools/locks/development.txt
	@echo 'installing what development needs, once' >&2
	@$(LOCKED) tools/locks/development.txt >&2
	@touch $@

demo: $(INSTALLED) ## compile a TrainJob of 16 nodes with 8 GPUs each, and show what trainc says about it
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tools/scripts/demo.py

# Steps of every command for every field: a tenth of the whole run, so they have a target of their own.
GROWTH := tests/hostile/test_steps_of_everything.py tests/hostile/test_growing_fields.py

test: lint $(READY) ## run every check and all tests but those of `make growth` and other programs
	@$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup -m 'not run and not browser and not editors and not e2e' $(GROWTH:%=--ignore=%)

test-run: $(READY) ## run jobs under the real torchrun, mpirun and JAX; missing programs are listed and skipped
	@$(BIN)/python -m pytest -q -m run

test-months: $(READY) ## 2,000 pull requests to repositories of kept jobs, made at random and judged by laws
	@TRAINC_MONTHS=80 TRAINC_REQUESTS=25 $(BIN)/python -m pytest -q -n $(PROCESSES) tests/cli/test_months.py

e2e: $(READY) ## dry-run every golden against the cluster of KUBECONFIG; missing CRDs are listed and skipped
	@if [ -z "$$KUBECONFIG" ]; then echo "no cluster, nothing to test: set KUBECONFIG (CONTRIBUTING.md, \"A live cluster\")"; \
	else PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -q -m e2e tests/e2e; fi

test-editors: $(READY) ## drive the language server from Emacs, and pack the VS Code extension; missing programs are listed and skipped
	@$(BIN)/python -m pytest -q -m editors

test-quick: $(READY) ## run the tests that are neither slow nor about other programs: some minutes
	@$(BIN)/python -m pytest -q -n $(PROCESSES) --dist loadgroup -m 'not slow and not tools and not run and not browser and not editors and not e2e'

test-causes: $(READY) ## check the causes that diff names on a made-up repository: ROUNDS=2000 rounds of edits, some hours
	@TRAINC_ROUNDS=$(or $(ROUNDS),2000) $(BIN)/python -m pytest -q tests/features/gitops/diff/test_causes.py -k law_holds

test-room: $(READY) ## run the tests of one folder: ROOM=lints, ROOM=features/gitops/diff
	@test -d 'tests/$(ROOM)' -a -n '$(ROOM)' || { echo "ROOM is a folder of tests/, such as ROOM=lints: $$(cd tests && ls -d */ features/*/ | tr '\n' ' ')" >&2; exit 2; }
	@$(BIN)/python -m pytest -q 'tests/$(ROOM)' -m 'not run and not browser and not editors and not e2e'

# CHECKOUT is a clone of kubeflow/trainer that has RELEASE; SINCE, a minor or a revision of it, replaces the newest minor.
port: $(READY) ## list what a release of Trainer changes that trainc has to know: RELEASE=v2.4.0 CHECKOUT=../trainer
	@test -n '$(RELEASE)' -a -n '$(CHECKOUT)' || { echo 'name the release and a clone of kubeflow/trainer that has it: make port RELEASE=v2.4.0 CHECKOUT=../trainer' >&2; exit 2; }
	@$(BIN)/python tools/scripts/port.py '$(CHECKOUT)' '$(RELEASE)' $(if $(SINCE),--since '$(SINCE)')

lint: $(READY) ## check style and types
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy

format: $(READY) ## format the code
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

golden: $(READY) ## regenerate golden/; read the diff before you commit it
	@TRAINC_SEEDS='$(SEEDS)' $(BIN)/python -m pytest -q -m golden --snapshot-update
	@test -d '$(SEEDS)/blocks' || { \
		git ls-files -z --deleted golden/seeds | git checkout-index -z --stdin; \
		echo 'golden/seeds is as git has it: there are no documents at $(SEEDS)/blocks; SEEDS=DIR names their folder' >&2; }
	@git --no-pager diff --stat -- golden

schemas: $(READY) ## regenerate the API schemas from the published packages
	@$(BIN)/python tools/scripts/generate_schemas.py
	@$(BIN)/python tools/scripts/generate_kubernetes.py

docs: $(READY) ## write docs/reference.md, and into each page what its commands print; read the diff
	@$(BIN)/python tools/scripts/generate_reference.py
	@PYTHONPATH=tests $(BIN)/python tests/shown.py
	@git --no-pager diff --stat -- README.md docs

diagnostics: $(READY) ## write build/diagnostics.md, the pages of all codes as one
	@$(BIN)/python tools/scripts/generate_diagnostics.py

conformance: $(READY) ## score trainc on all recorded cases, or on those of another folder: VECTORS=DIR
	@PYTHONPATH=tests $(BIN)/python -m conformance '$(VECTORS)'

# The folder has clones of the repositories in tools/scripts/ecosystem.toml, as owner/name; other folders are read as they are.
ecosystem: $(READY) ## compare with BEFORE=COMMIT (HEAD) on the checkouts in TRAINC_ECOSYSTEM; without them, skipped by name
	@$(BIN)/python tools/scripts/ecosystem.py '$(TRAINC_ECOSYSTEM)' --before '$(or $(BEFORE),HEAD)'

dist: $(READY) ## build the wheel and the source distribution
	@$(BIN)/python -m build --no-isolation --outdir dist .

playground: $(READY) ## build the page that compiles in the browser into build/playground
	@command -v npm >/dev/null || { echo 'the playground is built with Node.js and npm; install both' >&2; exit 2; }
	@npm --prefix tools/playground ci --silent
	@rm -rf build/wheel
	@$(BIN)/python -m build --wheel --no-isolation --outdir build/wheel . >/dev/null
	@$(BIN)/python tools/playground/build.py build/wheel/*.whl build/playground

test-playground: playground ## drive the playground in headless Chromium, without a network
	@$(BIN)/python -m pytest -q -m browser tests/playground

test-report: $(READY) ## drive the report in headless Chromium, by keys, and have axe look at it
	@command -v npm >/dev/null || { echo 'axe comes with npm; install Node.js and npm' >&2; exit 2; }
	@npm --prefix tools/playground ci --silent
	@$(BIN)/python -m pytest -q -m browser tests/features/gitops/report

release-check: $(READY) ## try what a tag would do, as far as that needs no account; publishes nothing
	@$(BIN)/python tools/scripts/release_check.py

sbom: $(READY) ## write dist/trainc.cdx.json, the bill of materials of what compiling needs
	@$(LOCKED) tools/locks/release.txt
	@mkdir -p dist
	@$(UV) venv --quiet --clear --python $(BIN)/python build/sbom
	@$(UV) pip install --quiet --python build/sbom --constraint tools/locks/runtime.txt .
	@$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		--output-file dist/trainc.cdx.json build/sbom

lock: $(READY) ## bring tools/locks/ in line with pyproject.toml; UPGRADE=1 takes the newest of everything
	@$(COMPILE) --extra dev --output-file tools/locks/development.txt pyproject.toml
	@printf '%s\n' hatchling editables | $(COMPILE) --constraint tools/locks/development.txt --output-file tools/locks/runtime.txt pyproject.toml -
	@for group in audit bench fuzz mutation release site; do \
		$(COMPILE) --group $$group --constraint tools/locks/development.txt --output-file tools/locks/$$group.txt || exit 1; done

# BEFORE='79829ac 3709d9b' measures these commits in turn with this one; RECORD=1 replaces tools/benchmarks/instructions.json.
# That of .venv is measured beside BENCH_PYTHON, and may not be optimized. Without dask or npm, their parts are left out.
bench: $(READY) ## count the instructions of each command, compare trainc with kustomize, rjsonnet, helm and cdk8s, and write docs/benchmarks.md
	@$(LOCKED) tools/locks/bench.txt
	@for each in 'bench $(BENCH_PYTHON)' 'bench-plain $(BIN)/python'; do set -- $$each; \
		$(UV) venv --quiet --clear --python "$$2" "build/$$1" && \
		$(UV) pip install --quiet --compile-bytecode --python "build/$$1" --require-hashes --requirement tools/locks/bench.txt && \
		$(UV) pip install --quiet --compile-bytecode --python "build/$$1" --constraint tools/locks/development.txt '.[lsp]' || exit 1; done
	@$(UV) venv --quiet --clear --python $(BENCH_PYTHON) build/bench-image
	@$(UV) pip install --quiet --compile-bytecode --python build/bench-image --constraint tools/locks/runtime.txt .
	@build/bench-image/bin/python tools/scripts/bundle.py
	@mkdir -p build/bench-node && cp tools/benchmarks/package*.json build/bench-node && \
		npm ci --silent --no-audit --no-fund --ignore-scripts --prefix build/bench-node || rm -rf build/bench-node
	@$(UV) venv --quiet --clear --python $(BENCH_PYTHON) build/bench-dask
	@$(UV) pip install --quiet --compile-bytecode --python build/bench-dask --constraint tools/locks/development.txt '.[dask]' || rm -r build/bench-dask
	@for commit in $(BEFORE); do \
		rm -rf "build/before-$$commit" && mkdir -p "build/before-$$commit" && \
		git archive "$$commit" | tar -x -C "build/before-$$commit" && \
		$(UV) venv --quiet --clear --python $(BENCH_PYTHON) "build/bench-$$commit" && \
		$(UV) pip install --quiet --compile-bytecode --python "build/bench-$$commit" \
			--constraint "build/before-$$commit/locks/runtime.txt" "./build/before-$$commit" || exit 1; done
	@PYTHONPATH='$(CURDIR)/tools' $(BIN)/python -m benchmarks.commands '$(CURDIR)/build/bench/bin/trainc' $(if $(RECORD),record)
	@PYTHONPATH='$(CURDIR)/tools' $(BIN)/python -m benchmarks build/bench/bin/python $(BIN)/kubectl $(foreach commit,$(BEFORE),$(commit)=build/bench-$(commit)/bin/python)

$(SITE_TOOLS): $(READY) tools/locks/runtime.txt tools/locks/site.txt
	@$(UV) venv --quiet --clear --python $(BIN)/python build/site-tools
	@$(UV) pip install --quiet --python build/site-tools --require-hashes --requirement tools/locks/runtime.txt --requirement tools/locks/site.txt
	@touch $@

site: $(SITE_TOOLS) ## build the site, its search and a page per rule into build/site; with the playground, if that was built
	@PYTHONPATH='$(CURDIR)/compiler:$(CURDIR)/tools' $(SITE_TOOLS) -m website build/site

pictures: playground $(SITE_TOOLS) ## take the pictures of README, the docs and the site again, in Chromium
	@PYTHONPATH='$(CURDIR)/compiler:$(CURDIR)/tests:$(CURDIR)/tools' $(SITE_TOOLS) tools/scripts/pictures.py

test-site: site ## test the built site in a browser without a network
	@TRAINC_SITE='$(CURDIR)/build/site' $(BIN)/python -m pytest -q -m browser tests/website

ceilings: $(READY) ## measure the time and memory that each command takes for hostile documents; some minutes
	@PYTHONPATH=tests:tools $(BIN)/python -m benchmarks.ceilings

# FIELDS chooses some, such as 'TrainJob numbered'; all take about three hours of one core.
growth: $(READY) ## find commands that take more than in proportion to a field, for each field of each schema
	@TRAINC_RELEASES=all $(BIN)/python -m pytest -q -n $(PROCESSES) $(GROWTH) tests/test_nothing_silent.py
	@PYTHONPATH=tests:tools $(BIN)/python -m benchmarks.growth $(FIELDS)

fuzz: $(READY) ## run each fuzz target for SECONDS (60); what it finds is kept in tools/fuzz/findings
	@$(LOCKED) tools/locks/fuzz.txt
	@for target in $(TARGETS); do \
		PYTHONPATH=tools $(BIN)/python -m fuzz.seeds build/fuzz $$target && mkdir -p tools/fuzz/findings/$$target && \
		PYTHONPATH=tools $(BIN)/python -m fuzz.run $$target -max_total_time=$(SECONDS) -timeout=30 -print_final_stats=1 \
			-artifact_prefix=tools/fuzz/findings/$$target/ build/fuzz/$$target || exit 1; done

# In an environment of its own: pip-audit needs other versions of what trainc is tested with. --strict, because it passes
# over what the index has no advisories for, and would then say that it found none.
audit: $(READY) ## look up the locks in the advisories of the package index, if the network allows
	@$(PYTHON) -m venv build/audit
	@build/audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/locks/audit.txt
	@for lock in tools/locks/*.txt; do echo "$$lock" && \
		build/audit/bin/pip-audit --strict --requirement "$$lock" --disable-pip --progress-spinner off || exit 1; done

test-bounds: $(READY) ## test with the oldest and with the newest runtime dependencies that pyproject.toml allows
	@for bound in lowest-direct highest; do \
		$(UV) venv --quiet --clear --python $(BIN)/python build/$$bound && \
		$(UV) pip install --quiet --python build/$$bound --resolution $$bound --editable '.[testing]' && \
		$(UV) pip freeze --quiet --python build/$$bound | grep == | tee build/$$bound.txt && \
		$(UV) pip install --quiet --python build/$$bound --constraint build/$$bound.txt --editable '.[dev]' && \
		build/$$bound/bin/python -m pytest -q -n $(PROCESSES) -m 'not tools' $(BOUNDED) || exit 1; done

# Left out: a test whose limit on the size of files would meet the measurements themselves.
coverage: $(READY) ## measure the branches that all tests reach, subprocesses included; takes twice as long as they do
	@mkdir -p build/coverage && rm -f build/coverage/data*
	@COVERAGE_FILE='$(CURDIR)/build/coverage/data' \
		$(BIN)/coverage run -m pytest -q -n $(PROCESSES) --dist loadgroup -k 'not takes_only_part_of_a_file'
	@COVERAGE_FILE='$(CURDIR)/build/coverage/data' $(BIN)/coverage combine --quiet build/coverage
	@COVERAGE_FILE='$(CURDIR)/build/coverage/data' $(BIN)/coverage report --fail-under=95

mutants: $(READY) ## try mutants of ir/, plugins/ and the merges; SAMPLE=300 tries 300 of them, N=22 so many over all rooms
	@$(LOCKED) tools/locks/mutation.txt
	@PYTHONPATH=tools:tests $(BIN)/python -m mutation --vectors '$(VECTORS)' --processes $(PROCESSES) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(N),--rooms $(N))

clean: ## remove what the other targets have made, .venv included
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
