# Every target builds .venv from nothing but Python and pip; the second time that is a glance at a stamp file.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# What a user needs, without what the tests do.
USABLE := .venv/.usable

# How much `make prove-NAME` proves, and from which seed: make prove-fuzz FACTS=5000000 SEED=7
FACTS ?= 1000000
CALLS ?= 2000
INPUTS ?= 1000000
TASKS ?= 800
STEPS ?= 100000
SIMULATED ?= 2000
REAL ?= 1300
CUTS ?= 5000
SEED ?= $(shell date +%s)

.PHONY: demo test format lint types cov docs prove-fuzz prove-walks prove-chaos prove-ledger prove-wires prove-soak prove-secrets prove-stores prove-install prove-plugins

demo: $(USABLE)  ## A real call to the example receptionist, on this machine alone
	$(BIN)/antiphon demo

test: $(READY)  ## All tests; what had to be skipped is named
	$(BIN)/pytest tests -rs

format: $(READY)
	$(BIN)/ruff check --fix --quiet
	$(BIN)/ruff format

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/mypy

cov: $(READY)
	$(BIN)/coverage run -m pytest tests
	$(BIN)/coverage report

prove-fuzz: $(READY)  ## A million facts to the core, in any order that the world can bring
	$(BIN)/python -m tests.core.fuzz --facts $(FACTS) --seed $(SEED)

prove-walks: $(READY)  ## 2,000 random calls, checked on their sound
	$(BIN)/python -m tests.situations.walks --calls $(CALLS) --seed $(SEED)

prove-chaos: $(READY)  ## 800 tasks that nobody here wrote, with everything that can go wrong at every point of 40
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --constraint constraints.txt bfcl-eval mpmath
	$(BIN)/python -m tests.chaos --tasks $(TASKS) --seed $(SEED) --out out/chaos

prove-ledger: $(READY)  ## The ledger as a state machine, 100,000 steps: judged by wishes that no rule of it knows
	$(BIN)/python -m tests.core.wishes --steps $(STEPS) --seed $(SEED)

prove-wires: $(READY)  ## A million bad inputs to every parser of what strangers send
	$(BIN)/python -m tests.wires --inputs $(INPUTS) --seed $(SEED)

prove-soak: $(READY)  ## 2,000 simulated and 1,300 real calls, of which nothing may stay
	$(BIN)/python -m tests.soak --simulated $(SIMULATED) --real $(REAL) --seed $(SEED)

prove-stores: $(USABLE)  ## 100,000 steps of two workers on each store, and 5,000 cuts of power
	ANTIPHON_STORE_STEPS=$(STEPS) ANTIPHON_POWER_CUTS=$(CUTS) ANTIPHON_SEED=$(SEED) \
		$(BIN)/pytest -s --timeout 7200 -o faulthandler_timeout=0 tests/stores/test_model.py tests/stores/test_power_loss.py

prove-install: $(USABLE)  ## Each extra in an environment of its own: a working command, or a clear remedy
	$(BIN)/python -m tests.installs $(EXTRAS)

prove-plugins:  ## Plugins of LiveKit's package, on doubles: an environment of their own, for they want another livekit
	test -x .venv-plugins/bin/python || $(PYTHON) -m venv .venv-plugins
	.venv-plugins/bin/python -m pip install --quiet --disable-pip-version-check --editable . 'livekit-agents>=1.8' \
		livekit-plugins-openai livekit-plugins-deepgram pytest pytest-timeout numpy soxr websockets blockbuster
	.venv-plugins/bin/python -m pytest tests/providers/test_livekit_plugin.py

prove-secrets: $(READY)  ## 2,000 calls with secrets, of which nothing may be kept
	$(BIN)/python -m tests.application.secret_calls --calls $(CALLS) --seed $(SEED)

docs: $(READY)  ## The site, into build/site; a link that leads nowhere fails
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(USABLE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}. Try: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@# What is never imported need not be compiled, which is a tenth of the disk.
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[local,cli,dev]'
	touch $@

$(READY): $(USABLE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[local,cli,dev,test]'
	@# The page's types are checked by TypeScript, where there is npm to fetch it.
	if command -v npm >/dev/null; then npm install --silent --no-fund --no-audit --prefix .venv typescript@6.0.3 || true; fi
	touch $@

REPLAYS ?= 200

.PHONY: prove-replay
prove-replay: $(READY)  ## 200 recorded calls made again with the agents that held them: equal, step by step
	$(BIN)/python -m tests.rerun --calls $(REPLAYS) --seed $(SEED)

KILLS ?= 300

.PHONY: prove-resume
prove-resume: $(READY)  ## Processes that end anywhere in 200 tasks, 300 of them by kill -9, and others that go on
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --constraint constraints.txt bfcl-eval mpmath
	$(BIN)/python -m tests.chaos.killed --kills $(KILLS) --seed $(SEED)
	$(BIN)/python -m tests.chaos --kills --tasks 200 --every 10 --pairs 400 --no-three --seed $(SEED) --out out/chaos
