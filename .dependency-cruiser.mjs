/**
 * The arrows of the house: which folder may import which. Arrows point downward only.
 *
 * TypeScript 7 has no parser that dependency-cruiser can use, so swc parses; it tells `import type`
 * from other imports, which the workflows' rules rest on. `scripts/arrows.test.ts` plants violations.
 */
import swcVisitor from '@swc/core/Visitor.js'

/** The rooms of the house: all that is built. */
const rooms = [
  'activities',
  'cli',
  'client',
  'config',
  'datasets',
  'envs',
  'faults',
  'identity',
  'learning',
  'machine',
  'messages',
  'policy',
  'storage',
  'telemetry',
  'temporal',
  'workers',
  'workflows',
]
const house = `^((${rooms.join('|')})/|index\\.ts$)`
/** What only tests use, beside what it is for; it is not built. */
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
 * and an expression of SQL holds clauses and calls, which hold expressions.
 */
const knownTypeCycles = '^(config/consistency|envs/db/embedded/(clause|call))\\.ts$'

/** Forbids a folder's own code everything but what is listed; packages are left to the package rules. */
function only(folder, allowed, options = {}) {
  return {
    name: options.name ?? `${folder}-arrows`,
    comment: options.comment ?? `${folder}/ may import ${allowed.join(', ')} only`,
    severity: 'error',
    from: { path: `^${folder}/`, pathNot: tests },
    to: {
      path: house,
      pathNot: [folder, ...allowed].map((name) => (name.includes('.') ? `^${name}$` : `^${name}/`)),
      ...(options.to ?? {}),
    },
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
      from: { pathNot: '^workflows/transitions/' },
      to: { path: '^workflows/transitions/changing\\.ts$' },
    },
    only('workflows', ['learning', 'identity'], {
      name: 'workflows-run-time',
      comment:
        'What workflows run is bundled and replayed: only pure code. Activities come as `import type`.',
      to: runTime,
    }),
    only('workflows', ['learning', 'activities', 'config', 'identity'], { name: 'workflows-types' }),
    {
      name: 'workflows-packages',
      comment: 'The bundle holds no zod, no native module and nothing of Node.',
      severity: 'error',
      from: { path: '^workflows/', pathNot: tests },
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
    only('storage', ['learning', 'identity', 'faults', 'machine', 'messages']),
    only('envs', ['learning', 'identity', 'faults', 'machine', 'messages']),
    only('config', ['learning', 'identity', 'faults']),
    only('datasets', ['faults', 'machine']),
    only('policy', ['learning', 'storage', 'identity', 'faults', 'machine', 'messages']),
    only(
      'activities',
      ['envs', 'policy', 'learning', 'storage', 'config', 'faults', 'identity', 'messages'],
      {
        name: 'activities-run-time',
        to: runTime,
      },
    ),
    only(
      'activities',
      ['envs', 'policy', 'learning', 'storage', 'config', 'faults', 'workflows', 'identity', 'messages'],
      {
        name: 'activities-types',
      },
    ),
    only('telemetry', ['workflows', 'storage', 'config', 'identity', 'faults', 'machine']),
    only('temporal', ['workflows', 'telemetry', 'storage', 'config', 'identity', 'faults', 'machine']),
    {
      name: 'workers-arrows',
      comment: 'workers/ know no client and no command line.',
      severity: 'error',
      from: { path: '^workers/', pathNot: tests },
      to: { path: '^(client|cli)/' },
    },
    {
      name: 'client-arrows',
      comment: 'client/ is for programs as for people: it knows no command line.',
      severity: 'error',
      from: { path: '^client/', pathNot: tests },
      to: { path: '^cli/' },
    },
    only('identity', []),
    only('faults', []),
    only('machine', ['faults']),
    only('messages', []),
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
      name: 'no-development-packages',
      comment: 'What is published imports only what is installed with it, or asked for by name (npm-peer).',
      severity: 'error',
      from: { path: house, pathNot: [tests, testing] },
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
