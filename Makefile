# Every target builds .venv from nothing but Python and pip; the second time that is a glance at a stamp file.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test format lint types cov docs

demo: $(READY)  ## A real call to the example receptionist, on this machine alone
	$(BIN)/antiphon demo

test: $(READY)  ## All tests; what had to be skipped is named
	$(BIN)/pytest -rs

format: $(READY)
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/mypy

cov: $(READY)
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

docs: $(READY)  ## The API reference, into build/docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	$(BIN)/pdoc --docformat google --output-directory build/docs antiphon

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}. Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[local,cli,dev,test]'
	@# The page's types are checked by TypeScript, where there is npm to fetch it.
	if command -v npm >/dev/null; then npm install --silent --no-fund --no-audit --prefix .venv typescript@6.0.3 || true; fi
	touch $@
