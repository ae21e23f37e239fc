import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { cacheFolder } from './machine/files/folder.ts'

const long = ['**/*.long.test.ts']
const nightly = ['**/*.nightly.test.ts']
/** They run whole commands, which a busy machine slows down: only a hang takes so long. */
const patient = { testTimeout: 300_000, hookTimeout: 300_000 }
/** The tests that `npm test -- --long` has chosen; else all. */
const chosen = process.env.PERDURE_NIGHTLY_TESTS?.split(',')
const processes = ['test/**/*.test.ts']
const elsewhere = ['node_modules', 'dist', 'examples']

export default defineConfig({
  // Environments outside of this package import the code under test, as they do in the command line.
  resolve: { alias: { perdure: fileURLToPath(new URL('index.ts', import.meta.url)) } },
  test: {
    // Native addons and `process.kill` want processes; two keep two cores busy.
    pool: 'forks',
    maxWorkers: 2,
    env: {
      // Tests do their own training and take no result of an earlier one from this machine.
      PERDURE_NO_CACHE: '1',
      // Threads and programs of tests load compiled code, as those of the command line do.
      NODE_COMPILE_CACHE: join(cacheFolder(), 'compiled'),
    },
    setupFiles: ['test/support/test-ports.ts', 'test/support/cpu-time.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // They run in the order of their names: no long file is left alone at the end.
    projects: [
      { extends: true, test: { ...patient, name: 'long', include: long, exclude: elsewhere } },
      {
        extends: true,
        test: { ...patient, name: 'nightly', include: chosen ?? nightly, exclude: elsewhere },
      },
      {
        extends: true,
        test: { name: 'processes', include: processes, exclude: [...elsewhere, ...long, ...nightly] },
      },
      {
        extends: true,
        test: {
          name: 'rooms',
          include: ['**/*.test.ts'],
          exclude: [...elsewhere, ...long, ...nightly, ...processes],
          // Most imports of these files are the same, and are read once for all of them.
          isolate: false,
        },
      },
    ],
  },
})
