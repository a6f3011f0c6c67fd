# Needs make, a POSIX shell and Python 3.11 or later; everything else comes into .venv from
# requirements.lock, whose hashes pip checks. Name an interpreter with PYTHON=/path/to/python3.

PYTHON ?=
PYTEST_ARGS ?=
UPGRADE ?=

VENV := .venv
PY := $(VENV)/bin/python
# The folder is part of the stamp's name: scripts in .venv hold its path, so a tree that was
# moved or copied is set up anew.
STAMP := $(VENV)/.ready-$(shell pwd | cksum | cut -d' ' -f1)
# A .venv whose interpreter went away is made again, whatever its stamp says.
BROKEN := $(shell $(PY) -c '' 2>/dev/null || echo FORCE)
# -qq leaves errors only.
QUIET := -m pip --disable-pip-version-check --no-input -qq
PIP := $(PY) $(QUIET)
# The one tool that is not in the lock file, since it makes it.
LOCKER := uv==0.13.9

# Other people's software, for tests/interop: a second .venv, since its pins would collide with
# ours, and a node_modules. npm writes its stamp itself.
PEERS := .venv-interop
PEERS_STAMP := $(PEERS)/.ready-$(shell pwd | cksum | cut -d' ' -f1)
PEERS_BROKEN := $(shell $(PEERS)/bin/python -c '' 2>/dev/null || echo FORCE)
NODE := tests/interop/node
NODE_STAMP := $(NODE)/node_modules/.package-lock.json

# What a caller's shell may hold must not reach into .venv.
unexport PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER

.DELETE_ON_ERROR:
.PHONY: help demo test interop peers lint format types bench wheel lock clean FORCE

help:
	@echo 'make demo    seal, check and refuse real envelopes of all three systems'
	@echo 'make test    all tests (PYTEST_ARGS="-k word" for some; TASKSEAL_CONFORMANCE=DIR for'
	@echo '             the third-party sets that tests/conformance/README.md lists)'
	@echo 'make interop set up other software that must agree with us (make test does it too, where it'
	@echo '             can; tests/interop/README.md)'
	@echo 'make lint    ruff: rules and layout'
	@echo 'make format  ruff: mend both where it can'
	@echo 'make types   mypy, strict'
	@echo 'make bench   the benchmarks; ratios within one run'
	@echo 'make wheel   sdist and wheel into dist/'
	@echo 'make lock    pin what pyproject.toml asks for (UPGRADE=1: the newest of everything)'
	@echo 'make clean   remove what these commands made'
	@echo
	@echo 'Each sets up .venv by itself. Any Python 3.11 or later will do: PYTHON=/path/to/python3'

demo: $(STAMP)
	@$(VENV)/bin/taskseal demo

test: peers
	@$(PY) -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal $(PYTEST_ARGS)

interop: $(PEERS_STAMP) $(NODE_STAMP)

# As far as the machine allows: the tests say themselves what they miss.
peers: $(STAMP)
	@mkdir -p build
	@$(MAKE) --silent --no-print-directory --keep-going $(PEERS_STAMP) \
	  $(if $(shell command -v npm 2>/dev/null),$(NODE_STAMP)) >build/interop.log 2>&1 || { \
	  if [ "$$TASKSEAL_INTEROP" = required ]; then cat build/interop.log >&2; exit 1; fi; \
	  echo 'make: not all software for tests/interop could be set up: build/interop.log' >&2; \
	}

lint: $(STAMP)
	@$(PY) -m ruff check --quiet .
	@$(PY) -m ruff format --quiet --check . || \
	  { echo 'the layout differs from ruff format: run make format' >&2; exit 1; }

format: $(STAMP)
	@$(PY) -m ruff check --quiet --fix-only .
	@$(PY) -m ruff format --quiet .

types: $(STAMP)
	@$(PY) -m mypy --no-error-summary

bench: $(STAMP)
	@set -e; for file in benchmarks/*.py; do $(PY) "$$file"; done

# The wheel is built from the sdist, so that the sdist is known to be whole.
wheel: $(STAMP)
	@rm -rf dist && mkdir -p build
	@$(PY) -m build --no-isolation --outdir dist . >build/wheel.log 2>&1 || \
	  { cat build/wheel.log >&2; exit 1; }
	@ls dist

lock: $(STAMP)
	@$(PY) -m venv build/lock
	@build/lock/bin/python -m pip --disable-pip-version-check -qq install $(LOCKER)
	@set -e; lock() { \
	  build/lock/bin/uv pip compile --quiet --system-certs --universal --python-version 3.11 \
	    --generate-hashes --annotation-style line --custom-compile-command 'make lock' "$$@"; \
	}; \
	lock pyproject.toml --all-extras $(if $(UPGRADE),--upgrade) --output-file requirements.lock; \
	lock pyproject.toml --constraint requirements.lock --upgrade \
	  --output-file requirements-runtime.lock; \
	lock tests/interop/python/requirements.in $(if $(UPGRADE),--upgrade) \
	  --output-file tests/interop/python/requirements.lock; \
	cd $(NODE) && npm install --package-lock-only --silent

clean:
	@rm -rf $(VENV) $(PEERS) $(NODE)/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# `ensurepip` is asked for because Debian ships python3 without it, and venv fails late then.
$(STAMP): requirements.lock pyproject.toml $(BROKEN)
	@$(PY) -m pip --version >/dev/null 2>&1 || { \
	  for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11) none; do \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	      2>/dev/null && break; \
	  done; \
	  if [ "$$python" = none ]; then \
	    echo 'make: no Python 3.11 or later with its venv module on PATH.' >&2; \
	    echo '      Name one with PYTHON=/path/to/python3; on Debian: apt-get install python3-venv' >&2; \
	    exit 1; \
	  fi; \
	  echo 'make: setting up $(VENV), once' >&2; \
	  "$$python" -m venv --clear $(VENV); \
	}
	@$(PIP) install --require-hashes -r requirements.lock || { \
	  echo 'make: pip could not install requirements.lock; is its package index within reach?' >&2; \
	  exit 1; \
	}
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.ready-*; touch $@

$(PEERS_STAMP): tests/interop/python/requirements.lock $(PEERS_BROKEN) | $(STAMP)
	@echo 'make: setting up $(PEERS), once' >&2
	@$(PY) -m venv --clear $(PEERS)
	@$(PEERS)/bin/python $(QUIET) install --require-hashes -r $<
	@rm -f $(PEERS)/.ready-*; touch $@

$(NODE_STAMP): $(NODE)/package-lock.json $(NODE)/package.json $(NODE)/.npmrc
	@command -v npm >/dev/null || { \
	  echo 'make: no npm on PATH; it comes with Node 20 or later' >&2; exit 1; \
	}
	@echo 'make: setting up $(NODE)/node_modules, once' >&2
	@cd $(NODE) && npm ci --silent </dev/null
	@touch $@
