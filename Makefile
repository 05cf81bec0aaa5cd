PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
PYTEST = $(BIN)/python -m pytest -n logical --dist worksteal

# Without their bytecode, each of the programs that the tests start would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs test test-browser test-all frameworks check wheel browser clean

demo: $(VENV)/.demo
	$(BIN)/ttt train --seconds 60 --out models/demo.zip
	$(BIN)/ttt certify models/demo.zip || test $$? -eq 1  # beatable is a verdict, too

test: $(STAMP)
	$(PYTEST) -m "not slow and not more and not browser"

# The page as people use it, and the site if it has been built, in Chromium; skipped where there is none.
# They mostly wait for it, so there are more of them than cores.
test-browser: PYTEST := $(BIN)/python -m pytest -n 4 --dist worksteal
test-browser: $(STAMP)
	$(PYTEST) -m "browser and not slow and not more" tests/web tests/scripts/test_scripts.py

# The slow tests, and those cases that the fast ones leave out, in parts that each end within ten minutes on two
# cores; `make slow-proofs` runs one of them.
PARTS := agents alphazero analysis claims contract files forgery games golden learning proofs ray recipes scripts \
  tables texts web
SLOW_agents = $(filter-out $(SLOW_contract) $(SLOW_learning),$(wildcard tests/agents/test_*.py))
SLOW_alphazero := tests/alphazero
SLOW_analysis := $(wildcard tests/analysis/test_*.py)
SLOW_claims := tests/scripts/test_truth.py tests/scripts/test_leaderboard.py tests/scripts/test_check_policy.py \
  tests/scripts/test_gravity_values.py
SLOW_contract := tests/agents/test_agents_contract.py
SLOW_files := tests/storage
SLOW_forgery := tests/proofs/test_proof_forgery.py
SLOW_games := tests/envs
SLOW_golden := tests/scripts/test_golden.py
SLOW_learning := tests/agents/test_q_learning.py tests/training/test_training.py
SLOW_proofs := tests/proofs/test_proof.py tests/proofs/test_proof_files.py tests/proofs/test_gravity_proof.py
SLOW_ray := $(wildcard tests/*/test_ray*.py) tests/workers
SLOW_recipes = $(filter-out $(SLOW_learning) $(SLOW_ray),$(wildcard tests/training/test_*.py))
SLOW_scripts := tests/scripts/test_scripts.py tests/scripts/test_framework_scripts.py tests/scripts/test_benchmark_selfplay.py
SLOW_tables := tests/scripts/test_ladder.py tests/test_docs.py
SLOW_texts := tests/text tests/datasets
SLOW_web := tests/web
SLOW_rest := tests ttt_env $(foreach part,$(PARTS),$(addprefix --ignore=,$(SLOW_$(part))))

slow-%: $(STAMP)
	$(PYTEST) -m "slow or more" $(SLOW_$*)

# A test file has a cluster of its own, which all of its tests need one after the other.
slow-ray: PYTEST := $(BIN)/python -m pytest

# The fast tests with the oldest or the newest versions of the dependencies that pyproject.toml allows.
ranges-%: $(STAMP)
	$(BIN)/python scripts/dependency_ranges.py $*

# Each script of a framework in an environment of its own, which is kept in build/frameworks.
# Those that need more than PyPI, `downloads` in their metadata, are run by hand.
FRAMEWORKS := $(basename $(notdir $(shell grep -L "^\# downloads = " $$(grep -l "^\# /// script" scripts/frameworks/*.py))))

frameworks-%:
	$(PYTHON) scripts/frameworks/run.py $*

# All of them, and their results into the table of scripts/frameworks/README.md.
frameworks:
	$(PYTHON) scripts/frameworks/run.py --record

test-all: test docs test-browser $(addprefix slow-,$(PARTS) rest) $(addprefix ranges-,lowest newest) \
  $(addprefix frameworks-,$(FRAMEWORKS))

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Runs every page of the documentation that is a notebook, and writes the site to build/docs. A warning ends it.
docs: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -d build/doctrees docs build/docs

# Builds the sources and from them the wheel, and uses it from an environment that has nothing else, in a project
# that has an `agents` of its own.
wheel: $(STAMP)
	rm -rf dist build/empty build/project
	$(BIN)/python -m build --no-isolation
	$(PYTHON) -m venv build/empty
	build/empty/$(notdir $(BIN))/python -m pip install --quiet dist/*.whl
	mkdir -p build/project/agents && touch build/project/agents/__init__.py
	cd build/project && ../empty/$(notdir $(BIN))/python -W error -c "import agents, ttt_env; \
	  assert 'project' in agents.__file__; \
	  assert all(ttt_env.certify(name).unbeatable for name in ('minimax', 'ppo', 'dqn')); \
	  ttt_env.make('tictactoe-v0', opponent='random').reset(seed=0); print('the wheel works')"

# What the tests of the web page drive; without it they are skipped. Debian's packages, for who may install them.
browser:
	{ command -v chromium-headless-shell && command -v chromedriver; } >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null || \
	  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
	    chromium-headless-shell chromium-driver fonts-dejavu-core >/dev/null; }

# Each job has a stamp for the extras that it needs; the environment grows. torch comes first, by pip, so that nothing
# that needs it chooses another build; the rest by uv, or by pip where uv is not to be had. Like uv's, its modules are
# compiled when they are first imported: most of torch's never are.
$(VENV)/.torch: constraints.txt
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || (echo "Python 3.11 or newer is needed" && false)
	@echo "Making the environment $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet uv || true
	@echo "Installing PyTorch …"
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps -c constraints.txt torch
	@touch $@

$(VENV)/.demo: EXTRAS := cli,train,tournament,web
$(STAMP): EXTRAS := dev
$(VENV)/.demo $(STAMP): $(VENV)/.torch pyproject.toml
	@echo "Installing ttt_env[$(EXTRAS)] …"
	@$(BIN)/python -m uv pip install --quiet --python $(BIN)/python -c constraints.txt torch -e ".[$(EXTRAS)]" || \
	  $(BIN)/python -m pip install --quiet -c constraints.txt torch -e ".[$(EXTRAS)]"
	@touch $@

clean:
	rm -rf $(VENV) build dist
