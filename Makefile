# Everything works from nothing but Python and make: each target makes the virtual environment it needs.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: run test test-all test-sklearn test-lowest test-interchange dist rehearsal matrix coverage lint pages bench bench-speed bench-growth bench-path bench-solvers bench-threads bench-forms bench-multiclass bench-multinomial bench-blocks bench-regularizers bench-oracle bench-memory bench-start bench-bundle bench-projections bench-l1 bench-pairs bench-predictions bench-ridge bench-kernels bench-certificate bench-small lock licences audit bench-limits bench-overall bench-defaults campaign docs screenshots clean

run: $(VENV)/plot
	$(BIN)/python examples/first_fit.py

# Bytecode is written: tests start processes, and each would compile the package again.
test: $(VENV)/ci
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist worksteal

# the same laws in all their cases, see tests/products.py
test-all: $(VENV)/ci
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist worksteal --full-products

# scikit-learn's own test modules with the drop-ins in the place of its estimators
test-sklearn: $(VENV)/ci
	FENCHEL_TEST_ALL=1 $(BIN)/python -m pytest -q tests/estimators/test_sklearn_suite.py

# the lowest versions that pyproject.toml states, in an environment of their own: the estimators and what they are made
# of, with scikit-learn's checks. pytest 8.3 because scikit-learn 1.7 passes it generators, which later ones refuse
LOWEST ?= tests/estimators tests/losses tests/regularizers tests/designs tests/interop tests/test_public_surface.py
test-lowest: requirements/lowest.py pyproject.toml
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install -q $$($(PYTHON) requirements/lowest.py)
	$(VENV)-lowest/bin/python -m pip install -q --no-deps -e .
	$(VENV)-lowest/bin/python -m pytest -q -n 2 --dist worksteal $(LOWEST)

# libraries that take our estimators, and QuaPy, which calls SVM-perf, in an environment of their own
test-interchange: pyproject.toml
	$(PYTHON) -m venv $(VENV)-interchange
	$(VENV)-interchange/bin/python -m pip install -q -e '.[test,interchange]' eli5 quapy
	$(VENV)-interchange/bin/python -m pytest -q -rs tests/interop tests/frontends

# the wheel and the sdist, checked: their metadata, an install of each in an empty environment, a fit with each
dist: $(VENV)/pip
	rm -rf dist out/empty
	$(BIN)/python -m pip install -q build twine
	$(BIN)/python -m build -q
	$(BIN)/python -m twine check --strict dist/*
	for file in dist/*.whl dist/*.tar.gz; do \
		$(PYTHON) -m venv --clear out/empty && out/empty/bin/python -m pip install -q $$file && \
		out/empty/bin/python -m pip check && out/empty/bin/python -I -c \
			'import fenchel; print(fenchel.LinearClassifier().fit([[0.0], [1.0]], [0, 1]).certificate_)' || exit 1; \
	done
	ls -l dist

# a new user with the wheel, and two who switch to it, each in an empty environment; writes docs/rehearsal.md
rehearsal: $(VENV)/pip
	$(BIN)/python -m pip install -q build
	rm -rf out/wheel && $(BIN)/python -m build -q --wheel --outdir out/wheel
	$(PYTHON) docs/rehearsal.py out/wheel/*.whl

# the wheel in an empty environment of each of these interpreters; prints the table of docs/development.md
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
matrix: $(VENV)/pip
	$(BIN)/python -m pip install -q build
	rm -rf out/wheel && $(BIN)/python -m build -q --wheel --outdir out/wheel
	$(PYTHON) docs/matrix.py out/wheel/*.whl $(PYTHONS)

# lines and branches that the tests of the mathematics reach, loops included: without the compiler, whose own
# tests in losses/test_own_loss.py fail here
COVERED ?= losses risks certificate regularizers projections numerics
coverage: $(VENV)/ci
	$(BIN)/python -m pip install -q coverage
	mkdir -p out
	-COVERAGE_FILE=out/coverage NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --branch --source=fenchel \
		-m pytest -q -p no:xdist -p limited $(addprefix tests/,$(COVERED))
	COVERAGE_FILE=out/coverage $(BIN)/python tests/coverage_by_folder.py

# random problems and fits, files, arguments, targets, signals and a soak, see campaign/README.md; BUDGET in seconds for
# each part
SEED ?= 0
BUDGET ?= 3600
CASES ?= 1000000
campaign: $(VENV)/ci
	for part in problems kernels estimators kernel_estimators; do \
		$(BIN)/python -m campaign $$part --seed $(SEED) --budget $(BUDGET) --cases $(CASES) --processes 2 || exit 1; \
	done
	for part in faults files front_ends checker arguments targets processes soak; do \
		$(BIN)/python -m campaign $$part --seed $(SEED) --budget $(BUDGET) || exit 1; \
	done

lint: $(VENV)/ci
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# the pages that are made from the registries, what supports what and the lists of the reference; the decision picture
pages: $(VENV)/docs
	$(BIN)/python docs/support.py
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/decision.py

# the site, in out/docs: a warning of Sphinx, an example that fails and a link that leads nowhere are errors
docs: pages
	$(BIN)/python docs/build.py
	$(BIN)/python docs/browser.py

# opens every page in Chromium on a desktop and on a phone, and writes pictures of them to out/screenshots
screenshots: docs
	$(BIN)/python docs/browser.py --screenshots

bench: $(VENV)/bench
	$(BIN)/python benchmarks/summary.py

bench-speed: $(VENV)/bench
	$(BIN)/python benchmarks/speed/table.py --update-readme

bench-overall: $(VENV)/bench
	$(BIN)/python benchmarks/overall.py --update-readme
	$(BIN)/python benchmarks/charts.py

bench-defaults: $(VENV)/bench
	$(BIN)/python benchmarks/defaults.py --update-readme

bench-growth: $(VENV)/bench
	$(BIN)/python benchmarks/growth.py --update-readme

bench-path: $(VENV)/bench
	$(BIN)/python benchmarks/path.py --update-readme

bench-solvers: $(VENV)/bench
	$(BIN)/python benchmarks/solvers.py --update-readme

bench-threads: $(VENV)/bench
	$(BIN)/python benchmarks/threads.py --update-readme

bench-oracle: $(VENV)/bench
	$(BIN)/python benchmarks/oracle.py --update-readme

bench-forms: $(VENV)/bench
	$(BIN)/python benchmarks/forms.py --update-readme

bench-multinomial: $(VENV)/bench
	$(BIN)/python benchmarks/multinomial.py --update-readme

bench-bundle: $(VENV)/bench
	$(BIN)/python benchmarks/bundle.py --update-readme

bench-multiclass: $(VENV)/bench
	$(BIN)/python benchmarks/multiclass.py --update-readme

bench-blocks: $(VENV)/bench
	$(BIN)/python benchmarks/blocks.py --update-readme

bench-regularizers: $(VENV)/bench
	$(BIN)/python benchmarks/regularizers.py --update-readme

bench-memory: $(VENV)/bench
	$(BIN)/python benchmarks/memory.py --update-readme

bench-projections: $(VENV)/bench
	$(BIN)/python benchmarks/projections.py --update-readme

bench-l1: $(VENV)/bench
	$(BIN)/python benchmarks/l1.py --update-readme

bench-pairs: $(VENV)/bench
	$(BIN)/python benchmarks/pairs.py --update-readme

bench-predictions: $(VENV)/bench
	$(BIN)/python benchmarks/predictions.py --update-readme

bench-ridge: $(VENV)/bench
	$(BIN)/python benchmarks/ridge.py --update-readme

bench-kernels: $(VENV)/bench
	$(BIN)/python benchmarks/kernels.py --update-readme

# the sources before the bounds on rounding errors are the other side of the comparison
bench-certificate: $(VENV)/bench
	mkdir -p out/before
	git archive 'eac4320^' src | tar -x -C out/before
	$(BIN)/python benchmarks/certificate.py --before out/before --update-readme

bench-limits: $(VENV)/bench
	$(BIN)/python benchmarks/limits.py --update-readme

bench-small: $(VENV)/bench
	$(BIN)/python benchmarks/small.py --update-readme

bench-start: $(VENV)/bench
	$(BIN)/python benchmarks/start.py --update-readme

# the newest versions that pyproject.toml allows, with the hashes of their files
lock: $(VENV)/pip
	$(BIN)/python requirements/lock.py

licences: $(VENV)/pip
	$(BIN)/python requirements/licences.py

# known vulnerabilities of the locked versions; needs a network that reaches the database
audit: $(VENV)/pip
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install -q pip-audit
	$(VENV)-audit/bin/pip-audit --no-deps --disable-pip -r requirements/build.txt -r requirements/ci.txt

PINNED = $(BIN)/python -m pip install -q --require-hashes --no-build-isolation
# an install without pins, for a Python or a system that requirements/*.txt have no files for
UNLOCKED = echo "pip could not install the pinned versions, see above. They are for Linux and Python 3.11 to 3.13; elsewhere \
	run: $(BIN)/python -m pip install -e '.[plot,dask,test,lint]' && touch $(VENV)/pip $(VENV)/ci" >&2; exit 1

$(VENV)/pip: requirements/build.txt
	$(PYTHON) -m venv $(VENV)
	$(PINNED) -r requirements/build.txt || { $(UNLOCKED); }
	touch $@

# what CI uses: exact versions; the package itself is built with the backend that is already there
$(VENV)/ci: $(VENV)/pip requirements/ci.txt pyproject.toml
	$(PINNED) -r requirements/ci.txt || { $(UNLOCKED); }
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	touch $@

# the newest versions, as users get them: a stamp for each set of extras
$(VENV)/plot: EXTRAS = plot
$(VENV)/bench: EXTRAS = plot,bench
$(VENV)/docs: EXTRAS = plot,docs
$(VENV)/plot $(VENV)/bench $(VENV)/docs: $(VENV)/pip pyproject.toml
	$(BIN)/python -m pip install -q -e ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-audit $(VENV)-lowest $(VENV)-interchange out
