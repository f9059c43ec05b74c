# make demo: the main job on the embedded default.  make test: the tests.  Both install what they need, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-page test-slow lint benchmark benchmark-train clean

demo: $(VENV)/.installed
	$(BIN)/asqp demo

test: $(VENV)/.installed-dev
	$(BIN)/asqp metric install
	$(BIN)/python -m pytest -n 2 -m "not slow" $(ARGS)

# The metric's page in a real browser: needs Debian's or another chromium; without it the tests skip and say so.
test-page: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,app]"
	$(BIN)/python -m pytest tests/asqp_f1/test_app.py $(ARGS)

# What takes minutes: a million reviews.
test-slow: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/metric.py
	$(BIN)/python benchmarks/pipeline.py

# With the extras train and quick, and the raw corpora: what the neural methods cost.
benchmark-train: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,train,quick]"
	$(BIN)/python benchmarks/extract_classify.py
	$(BIN)/python benchmarks/joint.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "asqp needs Python 3.11 or newer: make PYTHON=python3.11 …"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) runs build *.egg-info
