/**
 * `npm test`: all tests, then types, lint, imports between rooms, unused code and numbered invariants.
 *
 * Invariants
 * - The last line is `N passed, N failed`: every test, and every check as one. Failures are named before it, and
 *   the files that took longest.
 * - The exit code is 0 exactly when nothing failed.
 * - A run that ends without a report counts as a failure.
 * - A process of the tests that crashes in native code is reported with the stacks of its threads.
 *
 * There are three tiers (`scripts/test-tiers.ts`). `npm test` runs the quick tests. `npm test -- --long` is what CI runs: the
 * long tests too, the nightly tests of folders that changed, and a fault of each kind after all the rest.
 * `npm test -- --nightly` runs everything. With arguments (`npm test -- learning`) only those tests run, of whatever tier.
 * `npm test -- --vllm` installs vLLM and SGLang where they are missing (3.7 GB) and runs the tests that need them, or
 * those that are named.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leavingCores, reportCrashes } from './crash-trace.ts'
import { sglangPython } from './peers/sglang-environment.mjs'
import { vllmPython } from './peers/vllm-environment.mjs'
import { changedPaths, nightlyTestsOf } from './test-tiers.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const shownSlowest = 25
const bin = join(root, 'node_modules', '.bin')
const flags = ['--long', '--nightly', '--vllm']
const [isLong, isNightly, withVllm] = flags.map((flag) => process.argv.includes(flag))
const tier = isNightly ? 'nightly' : isLong ? 'long' : 'quick'
const named = process.argv.slice(2).filter((argument) => !flags.includes(argument))
const filters = withVllm && tier === 'quick' && named.length === 0 ? ['vllm-', 'sglang-'] : named
const env = {
  ...process.env,
  PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
  ...(withVllm && realServers()),
}

const tests = runTests()
const checks = filters.length > 0 ? { passed: 0, failed: 0 } : await runChecks()
if (filters.length === 0) run('node', ['scripts/counts.ts'])
// Here, for readers who see only the end.
for (const line of tests.slowest) console.log(line)
for (const failure of tests.failures) console.log(`✗ ${failure}`)
const failed = tests.failed + checks.failed
if (tests.skipped > 0) console.log(`${tests.skipped} skipped`)
console.log(`${tests.passed + checks.passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

/** The tests with vLLM and SGLang must run, then. */
function realServers() {
  return {
    ...{ PERDURE_VLLM_PYTHON: vllmPython(), PERDURE_REQUIRE_VLLM: '1' },
    ...{ PERDURE_SGLANG_PYTHON: sglangPython(), PERDURE_REQUIRE_SGLANG: '1' },
  }
}

function runTests() {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-test-'))
  const report = join(folder, 'report.json')
  const times = join(folder, 'times.json')
  env.PERDURE_FILE_TIMES = times
  try {
    const status = run('vitest', [
      'run',
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
      `--reporter=${join(root, 'scripts', 'file-times.ts')}`,
      // A server of vLLM or SGLang keeps two cores busy by itself; long tests wait for a third of their time.
      ...(withVllm ? ['--no-file-parallelism'] : tier === 'quick' ? [] : ['--maxWorkers=3']),
      ...projects(),
      ...filters,
    ])
    return { ...readReport(report, status), slowest: slowestOf(times) }
  } finally {
    reportCrashes(root)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A test that is named runs, whatever its tier. */
function projects() {
  if (tier === 'nightly' || filters.length > 0) return []
  if (tier === 'quick') return ['--project=processes', '--project=rooms']
  const changed = changedPaths(root)
  if (changed === undefined) console.log('Git does not know what changed since main: no nightly test runs.')
  const chosen = nightlyTestsOf(changed ?? [])
  if (chosen.length === 0) return ['--project=!nightly']
  console.log(`Nightly tests of folders that changed since main:\n  ${chosen.join('\n  ')}`)
  env.PERDURE_NIGHTLY_TESTS = chosen.join()
  return []
}

function readReport(report, status) {
  let read
  try {
    read = JSON.parse(readFileSync(report, 'utf8'))
  } catch {
    console.log('The tests ended without a report.')
    return { passed: 0, failed: 1, skipped: 0, failures: [] }
  }
  const { numPassedTests, numPendingTests, numTodoTests } = read
  const failures = read.testResults.flatMap(failuresOf)
  // An error outside of tests fails the run without a failed test.
  const failed = Math.max(failures.length, status === 0 ? 0 : 1)
  return { passed: numPassedTests, failed, skipped: numPendingTests + numTodoTests, failures }
}

/** The files that took longest, with their processor time; none where few were run, or the run ended without its times. */
function slowestOf(times) {
  if (!existsSync(times)) return []
  const files = JSON.parse(readFileSync(times, 'utf8'))
  if (files.length <= shownSlowest) return []
  const total = [1, 2].map((column) => files.reduce((sum, file) => sum + file[column], 0))
  const slowest = files.sort(([, left], [, right]) => right - left).slice(0, shownSlowest)
  return [
    `${seconds(total[0])} s in test files, ${seconds(total[1])} s of them on processors, of which`,
    '  clock    CPU',
    ...slowest.map(
      ([file, clock, cpu]) => `${seconds(clock).padStart(5)} s${seconds(cpu).padStart(5)} s  ${file}`,
    ),
  ]
}

function seconds(ms) {
  return String(Math.round(ms / 1000))
}

function failuresOf({ name: file, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === 'failed')
  const place = relative(root, file)
  if (failed.length === 0) return status === 'failed' ? [`${place}: ${firstLine(message)}`] : []
  return failed.map((test) => `${place}: ${test.fullName}: ${firstLine(test.failureMessages[0])}`)
}

function firstLine(text = '') {
  return text.split('\n', 1)[0]
}

/** Two at a time; each prints what it says once it has ended. */
async function runChecks() {
  const checks = [
    ['types', 'tsc', ['--project', '.']],
    ['lint and format', 'biome', ['check', '--error-on-warnings']],
    ['the arrows of the house', 'depcruise', ['--config', '.dependency-cruiser.mjs', '.']],
    ['unused code', 'knip', []],
    ['numbered invariants and their tests', 'node', ['scripts/invariants.ts']],
    ['rooms without cycles or crowds', 'node', ['scripts/rooms.ts']],
    ['time and chance from their services', 'node', ['scripts/services.ts']],
  ]
  const rest = checks.values()
  const results = []
  const work = async () => {
    for (const [name, command, args] of rest) {
      const { status, output } = await runBeside(command, args)
      process.stdout.write(output)
      results.push([name, status === 0])
      console.log(`${status === 0 ? '✓' : '✗'} ${name}`)
    }
  }
  await Promise.all([work(), work()])
  if (tier !== 'quick') {
    // By itself: what it measures is how soon work continues.
    const isGood = run('node', ['bench/chaos/run.ts', '--each', '1', '--deployments', '4']) === 0
    results.push(['a fault of each kind', isGood])
    console.log(`${isGood ? '✓' : '✗'} a fault of each kind`)
  }
  const passed = results.filter(([, isGood]) => isGood).length
  return { passed, failed: results.length - passed }
}

/** Runs a command beside another. @returns all that it printed */
function runBeside(command, args) {
  const child = spawn(join(bin, command), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env })
  const parts = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => parts.push(part))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, output: Buffer.concat(parts) }))
  })
}

function run(command, args) {
  return spawnSync(...leavingCores(join(bin, command), args), { cwd: root, stdio: 'inherit', env }).status
}
