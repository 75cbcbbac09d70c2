# Everything that people and CI do with this repository. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PORT_MOCK ?= 4010
TSX := node_modules/.bin/tsx
REDOCLY := REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true node_modules/.bin/redocly
# The contract, its types, the Prisma client and the table of variables are made from these.
CONTRACT := $(shell find openapi prisma -type f 2>/dev/null) scripts/generate.ts $(wildcard src/configVariables.ts) package-lock.json

PAGES := generated/docs/index.html generated/docs/workbench/main.js generated/docs/clinical-encounter-client.tgz

# Runs a command; what it prints is shown only if it fails.
quietly = output=$$($(1) 2>&1) || { printf '%s\n' "$$output" >&2; exit 1; }
# Prints what is done, and for how many seconds.
timed = @printf '%s … ' '$(1)'; SECONDS=0; $(call quietly,$(2)); echo "$$SECONDS s"

.PHONY: help node port install test-packages generate build docs start dev migrate migration-sql client mock tools test test-unit test-quick test-nodes test-pooler test-citus check format lint licenses sbom signatures typecheck fresh breaking release bench bench-growth bench-restore mutants consistency image-test faults slow-tests long-tests lab clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

start: port build ## install, generate, build and serve: embedded PostgreSQL, demo data, reference at /docs
	@exec scripts/serve

dev: node generated/.fresh $(PAGES) ## serve from the sources and restart on every change of code, contract or schema
	@$(TSX) scripts/dev.ts

test: install build ## run the tests, except the slow ones (needs nothing but Node, make and the npm registry)
	npm test --silent -- $(ARGS)

test-unit: install generated/.fresh ## pure rules, without a database, in a few seconds
	TEST_UNIT=1 npm test --silent -- tests/unit tests/domain/decisions 'tests/domain/access/(keysFile|tokens)' \
	  'tests/domain/catalog/(catalogFaults|catalogIds|catalogRefusal|scheduledDrugs)' --maxWorkers=2 $(ARGS)

test-quick: install generated/.fresh $(PAGES) ## the inner loop: operations, rules of the code (ARGS=tests/domain/orders: those, too)
	npm test --silent -- tests/unit tests/operations tests/runtime 'tests/contract/(imports|references|registry|vocabulary)' $(ARGS)

test-nodes: install build tools ## the unit and contract tests, and a built server, on Node 22 and 24 (Linux; ARGS=tests/system: those, too)
	@for bin in tests/tools/node_modules/node{22,24}-*/bin; do \
	  "$$bin/node" --version && PATH="$$PWD/$$bin:$$PATH" npm test --silent -- tests/unit tests/contract tests/system/metrics $(ARGS) || exit 1; done

check: install fresh lint breaking ## generated files are fresh, lint, types, no breaking change (CI runs this and test)

install: node ## install all packages, with those of tests, linters and benchmarks (tests/package.json)
	@[ -e node_modules/jest ] || $(MAKE) --no-print-directory $(if $(wildcard node_modules/.installed),test-packages,node_modules/.installed ALL=1)

generate: node node_modules/.installed ## contract → generated/openapi.json and .d.ts; prisma → client; src/cli → scripts/production/cli.md
	$(TSX) scripts/generate.ts
	@touch generated/.fresh
	$(TSX) scripts/cliReference.ts

build: node generated/.fresh ## compile to generated/build, which `scripts/serve` runs
	@$(MAKE) --no-print-directory --silent --jobs=2 --output-sync $(PAGES) generated/build/.made

docs: generate ## render the reference to generated/docs/index.html
	$(TSX) scripts/docs.ts

migrate: node generated/.fresh ## the operator's command "migrate", run from the sources
	$(TSX) src/cli/main.ts migrate

migration-sql: install generated/.fresh ## print the SQL from the committed prisma/schema.prisma to the present one, to begin a migration with
	@older=$$(mktemp) && trap "rm -f $$older" EXIT && git show HEAD:prisma/schema.prisma >$$older && $(TSX) scripts/migrationSql.ts $$older

client: node generated/docs/clinical-encounter-client.tgz ## pack the TypeScript client to generated/docs/clinical-encounter-client.tgz

mock: install generated/.fresh ## serve the contract as a mock (PORT_MOCK=4010, DYNAMIC=1 for invented values)
	$(TSX) scripts/mock.ts --port $(PORT_MOCK) $(if $(DYNAMIC),--dynamic)

tools: install ## install what the tests of generated clients and the Postman collection run, and Node 22 and 24 (760 MB)
	npm ci --prefix tests/tools --ignore-scripts

FORMATTED := 'src/**/*.{ts,tsx}' 'scripts/**/*.{ts,js,cjs}' 'prisma/*.ts' 'tests/**/*.{ts,js}'

format: install ## lay out the code as oxfmt has it
	node_modules/.bin/oxfmt $(FORMATTED)

lint: install generated/.fresh ## the contract's rules (Redocly and ours), the code's, its types and its layout
	node_modules/.bin/oxfmt --check $(FORMATTED)
	node_modules/.bin/oxlint src scripts tests prisma
	$(REDOCLY) lint --config openapi/redocly.yaml openapi/openapi.yaml openapi/arazzo.yaml
	$(TSX) scripts/lint.ts

licenses: node node_modules/.installed ## list the packages that the service runs with and their licenses
	@$(TSX) scripts/licenses.ts

sbom: node node_modules/.installed ## list these packages for scanners (CycloneDX) → generated/build/sbom.json
	@mkdir -p generated/build
	@$(TSX) scripts/sbom.ts $(ARGS) >generated/build/sbom.json

signatures: install ## verify the registry's signatures of the installed packages (needs the internet)
	@$(TSX) scripts/signatures.ts

typecheck: install generated/.fresh ## compile everything without output
	node_modules/.bin/tsc -p tsconfig.json
	node_modules/.bin/tsc -p src/workbench

fresh: generated/.fresh scripts/production/cli.md ## fail when the committed generated files are not what the sources give
	@git diff --exit-code --stat -- generated scripts/production || \
	  (echo 'Run "make generate", then commit those of these files that still differ; but restore generated/released, unless "make release" changed it.'; exit 1)

breaking: install generated/.fresh ## fail when the contract breaks partners of a released one, except as openapi/allowedChanges.json states
	@REDOCLY_TELEMETRY=off $(TSX) scripts/breaking.ts

release: breaking ## keep the contract, and checksums of it and of the migrations: later changes of these files fail a test
	@$(TSX) scripts/release.ts

bench: install build ## CPU time per request against a plain server in the same run, memory, start → scripts/bench/RESULTS.md
	$(TSX) scripts/bench/main.ts $(ARGS)

bench-growth: install generated/.fresh ## lists, searches and sweeps with 1,000 to 1,000,000 rows → scripts/bench/RESULTS-growth.md
	$(TSX) scripts/bench/growth.ts $(ARGS)

bench-restore: install generated/.fresh ## backup and restore of 100,000 encounters and 10,000 documents (RESTORE_ROWS for less)
	$(TSX) scripts/bench/restore.ts

mutants: install build ## plant one fault after the other: its tests must notice (ARGS='token|claim': those alone; BY=auditor: the lab's auditor must)
	$(TSX) tests/lab/plant.ts $(or $(BY),tests) '$(ARGS)'

lab: install build ## three servers, haproxy, a primary with its standby, Redis and S3 under load, with one fault after the other (ARGS='--only S3')
	$(TSX) tests/lab/main.ts lab $(ARGS)

faults: install build ## the lab at full size: faults of 10 s, 60 requests per second
	$(TSX) tests/lab/main.ts lab --seconds 10 --rate 60 $(ARGS)

consistency: install build ## many clients, many faults, one auditor → tests/lab/REPORT.md (SEEDS=100; SEED=7 SEEDS=1: one again)
	$(TSX) tests/lab/main.ts consistency

slow-tests: install build ## kills, hang-ups, backups, other programs and versions, the rendered reference: tests that CI leaves out (8 minutes)
	SLOW=1 npm test --silent -- $(ARGS)

long-tests: install build ## random lives and kills in numbers that CI has no time for
	LIVES=10000 KILLS=20 EVENTS=100 REQUESTS=30000 npm test --silent -- 'tests/.*(lives|Crash|listen|fuzz)\.test' $(ARGS)

test-pooler: install build ## tests/operations through PgBouncer in transaction mode
	TEST_POOLER=1 npm test --silent -- tests/operations $(ARGS)

# What works on the rows of tenants, or on the schema.
ON_CITUS := tests/operations 'tests/domain/(webhooks|sweeps|orders|encounters)' 'tests/contract/(isolation|sandboxIsolation)' \
  tests/consumer/partnerFlow 'tests/.*Race' tests/citus

test-citus: install build ## the tests that reach tenants' rows, on a coordinator and two workers of Citus, if it is installed
	@if ls /usr/lib/postgresql/*/lib/citus.so >/dev/null 2>&1; then TEST_CITUS=1 npm test --silent -- $(or $(ARGS),$(ON_CITUS)); \
	  else echo "SKIPPED: install Citus for Debian's PostgreSQL to run the tests on Citus."; fi

image-test: ## build the image of scripts/production/kit and run it (Debian, root, about 5 minutes)
	scripts/production/kit/testImage.sh

clean: ## remove everything that can be made again (not DATA_DIR)
	rm -rf node_modules tests/tools/node_modules generated/build generated/client generated/docs generated/dereferenced.json generated/server.json generated/problems.json generated/.fresh

node:
	@node scripts/nodeVersion.cjs

# Looked at before what takes time, and by the server again. HOST and PORT are the server's variables.
port:
	@! (exec 3<>"/dev/tcp/$${HOST:-127.0.0.1}/$${PORT:-3000}") 2>/dev/null || { echo \
	  "PORT $${PORT:-3000} is in use: stop what listens there, or choose another one (PORT=$$(($${PORT:-3000} + 1)) make start), beside a server with this embedded database also another DATA_DIR." >&2; exit 1; }

node_modules/.installed: package.json package-lock.json tests/package.json
	$(call timed,Installing the packages,npm ci $(if $(ALL)$(wildcard node_modules/jest),,--workspaces=false))
	@touch $@

# Unlike npm ci, this removes nothing, because a running service and scripts/ces load the installed packages.
test-packages: node_modules/.installed
	$(call timed,Adding the packages of the tests,npm install --no-save)

# What is installed follows from package-lock.json; the tests' packages, which come later, change nothing here.
generated/.fresh: $(CONTRACT) | node_modules/.installed
	$(call timed,Generating code from the contract,$(TSX) scripts/generate.ts)
	@touch $@

# Types are what `make check` looks at.
generated/build/.made: COMPILED = $$(find src generated/prisma -name '*.[jt]s' ! -path 'src/client/*' ! -path 'src/workbench/*' ! -path 'src/reference/*')
generated/build/.made: generated/.fresh $(shell find src -type f) tsconfig.json
	$(call timed,Compiling the service,node_modules/.bin/esbuild $(COMPILED) --outbase=. --outdir=generated/build --format=esm --platform=node \
	  --target=node20 --sourcemap --sources-content=false)
	@touch $@

generated/docs/workbench/main.js: generated/.fresh $(wildcard scripts/workbench.ts scripts/writePage.ts scripts/diagrams.ts src/workbench/* src/client/*.ts)
	$(call timed,Bundling the workbench,$(TSX) scripts/workbench.ts)

generated/docs/clinical-encounter-client.tgz: generated/.fresh $(wildcard scripts/client.ts src/client/* src/client/bin/*)
	$(call timed,Packing the client,$(TSX) scripts/client.ts)

scripts/production/cli.md: scripts/cliReference.ts $(wildcard src/cli/*.ts) | generated/.fresh
	@$(call quietly,$(TSX) scripts/cliReference.ts)

generated/docs/index.html: generated/.fresh $(wildcard scripts/diagrams.ts scripts/writePage.ts scripts/docs.ts scripts/redoc.ts scripts/samples.ts scripts/searchIndex.ts scripts/artifacts/* src/reference/* src/workbench/page.ts src/workbench/session.ts src/client/*.ts)
	$(call timed,Rendering the reference,$(TSX) scripts/docs.ts)
