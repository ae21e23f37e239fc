/**
 * The arrows of the house: which folder may import which. Arrows point downward only.
 *
 * TypeScript 7 has no parser that dependency-cruiser can use, so swc parses; it tells `import type`
 * from other imports, which the workflows' rules rest on. `scripts/arrows.test.ts` plants violations.
 */
import swcVisitor from '@swc/core/Visitor.js'

/** The other rooms that each room may import, types included; docs/architecture.md says why. A package is no room. */
const arrows = {
  identity: [],
  faults: [],
  messages: [],
  learning: ['identity'],
  machine: ['faults'],
  datasets: ['faults', 'machine'],
  config: ['learning', 'identity', 'faults', 'machine'],
  storage: ['learning', 'identity', 'faults', 'machine', 'messages'],
  envs: ['worlds', 'learning', 'identity', 'faults', 'machine', 'messages'],
  worlds: ['identity', 'faults', 'machine'],
  policy: ['learning', 'storage', 'identity', 'faults', 'machine', 'messages'],
  contract: ['learning', 'config', 'storage', 'identity'],
  workflows: ['contract', 'learning', 'activities', 'config', 'identity'],
  activities: [
    'envs',
    'policy',
    'learning',
    'storage',
    'config',
    'faults',
    'machine',
    'contract',
    'identity',
    'messages',
  ],
  telemetry: ['contract', 'workflows', 'storage', 'config', 'learning', 'identity', 'faults', 'machine'],
  temporal: ['contract', 'telemetry', 'storage', 'config', 'identity', 'faults', 'machine'],
}
const upper = ['workers', 'client', 'dashboard', 'cli']
const house = `^((${[...Object.keys(arrows), ...upper].join('|')})/|index\\.ts$)`
/** Files that only tests use, each beside its subject; they are not built. */
const testing = '\\.testing\\.ts$'
const tests = '\\.(test|bench)\\.ts$'

// swc parses `using`, but the visitor that comes with it does not know the statement and would throw.
const { Visitor } = swcVisitor
const visitKnownStatement = Visitor.prototype.visitStatement
Visitor.prototype.visitStatement = function visitStatement(statement) {
  if (statement.type !== 'UsingDeclaration') return visitKnownStatement.call(this, statement)
  return { ...statement, decls: this.visitVariableDeclarators(statement.decls) }
}

/**
 * Circles of types that have a reason: the rules between keys are part of the schema that `RunConfig` is inferred from,
 * and an expression of SQL holds calls, which hold expressions.
 */
const knownTypeCycles = '^(config/schema/consistency|worlds/mysql/syntax/call)\\.ts$'

/** Forbids a room's own code all rooms but those that are listed; packages are left to the package rules. */
function only([room, allowed], to = {}) {
  return {
    name: `${room}-${to === runTime ? 'run-time' : 'arrows'}`,
    comment: `${room}/ may ${to === runTime ? 'run' : 'import'} nothing of the house but ${allowed.join(', ')}`,
    severity: 'error',
    from: { path: `^${room}/`, pathNot: tests },
    to: { path: house, pathNot: [room, ...allowed].map((name) => `^${name}/`), ...to },
  }
}

const runTime = { dependencyTypesNot: ['type-only'] }

export default {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that need each other to run are one file, or lack a third.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: runTime },
    },
    {
      name: 'no-type-cycles',
      comment: 'Types of two files that need each other lack a third file too.',
      severity: 'error',
      from: { path: house },
      to: { circular: true, viaOnly: { pathNot: knownTypeCycles } },
    },
    {
      name: 'state-changes-in-transitions',
      comment: 'The state of a run is readonly: only its transitions see it as one that changes.',
      severity: 'error',
      from: { pathNot: '^workflows/state/transitions/' },
      to: { path: '^workflows/state/transitions/changing\\.ts$' },
    },
    ...Object.entries(arrows).map((arrow) => only(arrow)),
    // Code that workflows run is bundled and replayed, so it must be pure. Activities come as `import type`.
    only(['contract', ['learning', 'identity']], runTime),
    only(['workflows', ['contract', 'learning', 'identity']], runTime),
    ...['workers', 'client', 'dashboard'].map((room) => ({
      name: `${room}-arrows`,
      comment: `${room}/ knows nothing of what is above it.`,
      severity: 'error',
      from: { path: `^${room}/`, pathNot: tests },
      to: { path: `^(${upper.slice(upper.indexOf(room) + 1).join('|')})/` },
    })),
    {
      name: 'dashboard-browser',
      comment: 'The page, and its contract with the server, run in a browser: pure rooms alone.',
      severity: 'error',
      from: { path: '^dashboard/(contract|page)/', pathNot: tests },
      to: {
        path: house,
        pathNot: ['^dashboard/(contract|page)/', '^(learning|identity|messages|faults)/'],
      },
    },
    {
      name: 'workflows-packages',
      comment: 'The bundle holds no zod, no native module and nothing of Node.',
      severity: 'error',
      from: { path: '^(contract|workflows)/', pathNot: tests },
      to: {
        pathNot: [house, 'node_modules/@temporalio/(workflow|common)/'],
        ...runTime,
        couldNotResolve: false,
      },
    },
    {
      name: 'learning-is-pure',
      comment: 'learning/ is mathematics: no package, no I/O, nothing of Node.',
      severity: 'error',
      from: { path: '^(learning|identity)/', pathNot: tests },
      to: { pathNot: '^(learning|identity)/' },
    },
    {
      name: 'one-door-to-onnxruntime',
      comment: 'One file imports the runtime; all others go through it.',
      severity: 'error',
      from: { pathNot: '^policy/graph/runtime\\.ts$' },
      to: { path: 'node_modules/onnxruntime-(node|common)/', ...runTime },
    },
    {
      name: 'nothing-imports-tests',
      severity: 'error',
      from: { path: house, pathNot: [tests, testing] },
      to: { path: [tests, testing, '^test/', '^bench/'] },
    },
    {
      name: 'page-is-bundled',
      comment: 'The page is built by itself, with its packages in it; no other code imports from it.',
      severity: 'error',
      from: { pathNot: '^dashboard/page/' },
      to: { path: '^dashboard/page/' },
    },
    {
      name: 'one-page-without-temporal',
      comment: 'The page shows what learning is without workflows.',
      severity: 'error',
      from: { path: '^examples/one-page\\.ts$' },
      to: { path: '@temporalio', reachable: true },
    },
    {
      name: 'no-development-packages',
      comment:
        'Published code imports only packages that are installed with it, or asked for by name (npm-peer).',
      severity: 'error',
      from: { path: house, pathNot: [tests, testing, '^dashboard/page/'] },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'everything-resolves',
      comment: 'Examples name the package as its users do, which resolves where it is installed.',
      severity: 'error',
      from: { pathNot: '^examples/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|.perdure)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js'],
    },
  },
}
