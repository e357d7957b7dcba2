# Needs git, make and Python 3.11 or newer; everything else goes into .venv. Works with GNU Make 3.81.

VENV    := .venv
RUN     := $(VENV)/bin/python
PIP     := $(RUN) -m pip -qq --disable-pip-version-check
UV      := uv==0.13.9
ARGS    ?=
WORKERS ?= 2
PYTHON  ?= $(shell for candidate in python3.13 python3.12 python3.11 python3 python; do \
	if $$candidate -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	then echo $$candidate; break; fi; done)

.DEFAULT_GOAL := help
.PHONY: help demo test check bench lock map format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  More arguments for the command behind a goal: make test ARGS="-k watermark -x"'

demo: $(VENV)/.run ## see it work: a job that is killed, repeated and run late, and stays right
	@$(RUN) -m telafi demo $(ARGS)

test: $(VENV)/.test ## all tests
	@$(RUN) -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

check: $(VENV)/.test ## what must be green before a commit: lint, types, layers, unit and architecture tests
	@$(RUN) scripts/check.py $(ARGS)

bench: $(VENV)/.test ## measure
	@$(RUN) -m bench $(ARGS)

lock: $(VENV)/.created ## resolve the requirements/*.in files again
	@$(PIP) install $(UV)
	@for name in build run test; do \
		$(VENV)/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.11 \
			requirements/$$name.in --output-file requirements/$$name.txt || exit 1; done
	@if grep -n '://' requirements/*.txt; then echo 'requirements must carry no addresses'; exit 1; fi

map: $(VENV)/.created ## write the module map in ARCHITECTURE.md
	@$(RUN) scripts/module_map.py

format: $(VENV)/.test ## format, and fix what can be fixed safely
	@$(RUN) -m ruff check --quiet --fix-only .
	@$(RUN) -m ruff format .

clean: ## remove the environment and all caches
	rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp file stands for one finished step, so that a second call installs nothing.

$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo 'Telafi needs Python 3.11 or newer with its venv module' \
		'(on Debian and Ubuntu: the package python3-venv). Name one with: make PYTHON=/path/to/python'; exit 1; }
	@echo "making $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.created pyproject.toml requirements/build.txt requirements/run.txt
	@echo 'installing what Telafi needs'
	@$(PIP) install --require-hashes -r requirements/build.txt -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.run requirements/test.txt
	@echo 'installing what the tests need'
	@$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@
