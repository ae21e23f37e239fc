/**
 * The arrows of the house: which folder may import which. Arrows point downward only.
 *
 * TypeScript 7 has no parser that dependency-cruiser can use, so swc parses; it tells `import type`
 * from other imports, which the workflows' rules rest on. `scripts/arrows.test.ts` plants violations.
 */
import swcVisitor from '@swc/core/Visitor.js'

const tests = '\\.(test|bench)\\.ts$'

// swc parses `using`, but the visitor that comes with it does not know the statement and would throw.
const { Visitor } = swcVisitor
const visitKnownStatement = Visitor.prototype.visitStatement
Visitor.prototype.visitStatement = function visitStatement(statement) {
  if (statement.type !== 'UsingDeclaration') return visitKnownStatement.call(this, statement)
  return { ...statement, decls: this.visitVariableDeclarators(statement.decls) }
}

/** Forbids a folder's own code everything but what is listed; packages are left to the package rules. */
function only(folder, allowed, options = {}) {
  return {
    name: options.name ?? `${folder}-arrows`,
    comment: options.comment ?? `${folder}/ may import ${allowed.join(', ')} only`,
    severity: 'error',
    from: { path: `^src/${folder}/`, pathNot: tests },
    to: {
      path: '^src/',
      pathNot: [folder, ...allowed].map((name) => (name.includes('.') ? `^src/${name}$` : `^src/${name}/`)),
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
    only('workflows', ['learning', 'identity.ts'], {
      name: 'workflows-run-time',
      comment:
        'What workflows run is bundled and replayed: only pure code. Activities come as `import type`.',
      to: runTime,
    }),
    only('workflows', ['learning', 'activities', 'config', 'envs', 'identity.ts'], {
      name: 'workflows-types',
    }),
    {
      name: 'workflows-packages',
      comment: 'The bundle holds no zod, no native module and nothing of Node.',
      severity: 'error',
      from: { path: '^src/workflows/', pathNot: tests },
      to: {
        pathNot: ['^src/', 'node_modules/@temporalio/(workflow|common)/'],
        ...runTime,
        couldNotResolve: false,
      },
    },
    {
      name: 'learning-is-pure',
      comment: 'learning/ is mathematics: no package, no I/O, nothing of Node.',
      severity: 'error',
      from: { path: '^src/(learning/|identity\\.ts$)', pathNot: tests },
      to: { pathNot: ['^src/learning/', '^src/identity\\.ts$'] },
    },
    only('storage', ['learning', 'identity.ts', 'envs/environment.ts', 'envs/lease.ts']),
    only('envs', ['learning', 'identity.ts', 'listening.ts', 'reason.ts', 'cache-folder.ts']),
    only('config', ['learning', 'identity.ts']),
    only('datasets', []),
    only('policy', [
      'learning',
      'storage',
      'identity.ts',
      'reason.ts',
      'envs/environment.ts',
      'envs/exact-arguments.ts',
    ]),
    only('activities', ['envs', 'policy', 'learning', 'storage', 'config', 'identity.ts'], {
      name: 'activities-run-time',
      to: runTime,
    }),
    only('activities', ['envs', 'policy', 'learning', 'storage', 'config', 'workflows', 'identity.ts'], {
      name: 'activities-types',
    }),
    {
      name: 'workers-arrows',
      comment: 'workers/ know no command line and no page.',
      severity: 'error',
      from: { path: '^src/workers/', pathNot: tests },
      to: { path: '^src/(cli|dashboard)/' },
    },
    {
      name: 'one-door-to-onnxruntime',
      comment: 'One file imports the runtime; all others go through it.',
      severity: 'error',
      from: { pathNot: '^src/policy/graph/runtime\\.ts$' },
      to: { path: 'node_modules/onnxruntime-(node|common)/', ...runTime },
    },
    {
      name: 'nothing-imports-tests',
      severity: 'error',
      from: { path: '^src/', pathNot: [tests, '^src/.*/(testing|contract)[^/]*\\.ts$'] },
      to: { path: [tests, '^test/', '^bench/'] },
    },
    {
      name: 'no-development-packages',
      comment: 'What is published imports only what is installed with it, or asked for by name (npm-peer).',
      severity: 'error',
      from: { path: '^src/', pathNot: [tests, '^src/.*/(testing|contract)[^/]*\\.ts$'] },
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
    exclude: { path: '^(dist|coverage)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js'],
    },
  },
}
