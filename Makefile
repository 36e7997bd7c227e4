# `make run` opens the window, `make test` checks everything; each sets up what it needs first.
# PYTHON=/path/to/python3.12 uses that interpreter; ARGS="…" goes to gpuplanner or to pytest.

.PHONY: run test fuzz walk lint format messages screenshots lock accuracy accuracy-fit accuracy-diff benchmarks

IN := .venv/bin/python
export PYTHON

run:
	@sh packaging/setup.sh run; case $$? in 0) $(IN) -m gpuplanner $(ARGS) ;; 3) ;; *) exit 1 ;; esac

test:
	@sh packaging/setup.sh test
	@sh packaging/check.sh test $(ARGS)

# Plans at the limits of their fields, damaged stores and damaged outputs of tools (the corpus beside the checkout, where
# it is there), many more of each than `make test` tries (an hour or so).
fuzz:
	@sh packaging/setup.sh test
	@GPUPLANNER_FUZZ=$${GPUPLANNER_FUZZ:-40} $(IN) -m pytest -q tests/engine/test_corners.py tests/store/test_damage.py tests/probe/test_any_text.py $(ARGS)

# Every model with every kind of machine in every kind of work: what a search computes and what an estimate does, signs,
# units, and facts that are taken away; `make test` takes a sample of the pairs (an hour or so).
walk:
	@sh packaging/setup.sh test
	@GPUPLANNER_WALK=1 $(IN) -m pytest -q --timeout 0 tests/engine/test_every_pair.py $(ARGS)

lint:
	@sh packaging/setup.sh test
	@sh packaging/check.sh lint

format:
	@sh packaging/setup.sh test
	@$(IN) -m ruff check --quiet --fix .
	@$(IN) -m ruff format --quiet .

# Compiles every .po to the .mo beside it. Both are committed, so that running needs no compiler.
DOMAINS = $(sort $(basename $(notdir $(wildcard resources/locale/*/LC_MESSAGES/*.po))))
messages:
	@sh packaging/setup.sh test
	@$(IN) -m babel.messages.frontend --quiet compile --directory resources/locale --domain "$(DOMAINS)"

# The pictures of the README, written by the tests that look at them.
screenshots:
	@sh packaging/setup.sh test
	@GPUPLANNER_SCREENSHOTS=docs/screenshots QT_QPA_PLATFORM=offscreen $(IN) -m pytest -m screenshots $(ARGS)

# Every public measurement beside what the engine says of it: ACCURACY.md and docs/accuracy/.
accuracy:
	@sh packaging/setup.sh test
	@$(IN) -m tests.accuracy.report $(ARGS)

# How long estimates and searches take: docs/BENCHMARKS.md. ARGS=PYTHON times llm-analysis beside, which that one has.
benchmarks:
	@sh packaging/setup.sh test
	@$(IN) -m tests.benchmarks.report $(ARGS)

# Fits again without each source, run, GPU and chip (some minutes), and makes the ranges from what that misses.
accuracy-fit:
	@sh packaging/setup.sh test
	@$(IN) -m tests.accuracy.left_out $(ARGS)
	@$(IN) -m tests.accuracy.fit_ranges --write

# How the predictions over models, GPUs and ways differ from those that are kept; ARGS=--keep keeps the new ones.
accuracy-diff:
	@sh packaging/setup.sh test
	@$(IN) -m tests.accuracy.surface $(ARGS)

# Resolves the dependencies of pyproject.toml anew, for every Python and system that it names.
RESOLVE = $(IN) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url
lock: export UV_CUSTOM_COMPILE_COMMAND = make lock
lock:
	@sh packaging/setup.sh test
	@$(RESOLVE) $(ARGS) pyproject.toml --group build --output-file requirements.lock
	@$(RESOLVE) $(ARGS) pyproject.toml --group build --group dev --constraint requirements.lock --output-file requirements-dev.lock
