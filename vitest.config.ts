import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // What environments outside of this package import is the code under test, as it is for the command line.
  resolve: { alias: { perdure: fileURLToPath(new URL('index.ts', import.meta.url)) } },
  test: {
    include: ['**/*.test.ts'],
    exclude: ['node_modules', 'dist', 'examples'],
    // Native addons and `process.kill` want processes; two keep two cores busy.
    pool: 'forks',
    maxWorkers: 2,
    // What a test trains it trains itself, whatever was trained before on this machine.
    env: { PERDURE_NO_CACHE: '1' },
    setupFiles: ['test/own-ports.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
