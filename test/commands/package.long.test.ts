/** Perdure as a package: packed, installed into an empty folder as the documents say, type-checked and run. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = process.cwd()
const folder = mkdtempSync(join(tmpdir(), 'perdure-package-'))
const installed = join(folder, 'node_modules', 'perdure')
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
const archive = `perdure-${version}.tgz`
const installation = `npm install --ignore-scripts ./${archive}`

/** Errors in declarations of packages that are not ours, with `skipLibCheck` off. */
const foreignErrors = [
  /^node_modules\/@temporalio\/common\/lib\/time\.d\.ts\(\d+,\d+\): error TS7016: .*'ms'/,
]

const program = `import type { EnvironmentDefinition, RunConfig, Training, TrainingOptions } from 'perdure'
import { defineEnvironment, loadConfig, resolveConfig, train, win, z } from 'perdure'

const counting = defineEnvironment('counting', {
  start: ({ random }) => ({ prompt: 'Say a number.', goal: random.int(1, 20) }),
  tools: (tool) => ({
    say: tool({
      description: 'Says a number.',
      parameters: z.object({ number: z.int() }),
      run: ({ number }, { goal }) => (number === goal ? win('right') : 'wrong'),
    }),
  }),
})
const definition: EnvironmentDefinition = counting
const config: RunConfig = resolveConfig({ training: { updates: 3 } })
export type Started = (options: TrainingOptions) => Promise<Training>
console.log(definition.name, config.training.updates, typeof train, typeof loadConfig)
`

interface Ended {
  readonly status: number | null
  readonly output: string
}

function perdure(input: string, ...args: readonly string[]): Ended {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(installed, 'bin', 'perdure.mjs'), ...args],
    {
      cwd: folder,
      input,
      encoding: 'utf8',
    },
  )
  return { status, output: stdout + stderr }
}

beforeAll(() => {
  const npm = (cwd: string, ...args: readonly string[]) =>
    execFileSync('npm', [...args, '--loglevel=error', '--no-audit', '--no-fund'], { cwd, encoding: 'utf8' })
  // Files of an earlier build are no part of the package.
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  npm(root, 'pack', '--pack-destination', folder)
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  npm(folder, ...installation.split(' ').slice(1), '--prefer-offline')
}, 600_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the package', { timeout: 300_000 }, () => {
  test('is installed by the command of the documents', () => {
    expect(readFileSync('docs/environments.md', 'utf8')).toContain(`${installation} `)
  })

  test('holds code, and the notices of what comes with it', () => {
    for (const file of [
      'dist/cli/main.js',
      'dist/index.d.ts',
      'dist/envs/db/embedded/database-worker.js',
      'dist/dashboard/page/dist/index.html',
      'dist/dashboard/page/dist/page.js',
      'NOTICE',
    ])
      expect(existsSync(join(installed, file)), file).toBe(true)
  })

  test('has types that are complete, with no library passed over', () => {
    writeFileSync(join(folder, 'program.ts'), program)
    const options = {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'esnext.disposable'],
      types: ['node'],
    }
    const typeRoots = [join(root, 'node_modules', '@types')]
    const compilerOptions = { ...options, typeRoots, strict: true, noEmit: true, skipLibCheck: false }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    const { stdout } = spawnSync(
      join(root, 'node_modules', '.bin', 'tsc'),
      ['-p', folder, '--pretty', 'false'],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    )
    const errors = stdout.split('\n').filter((line) => /error TS/.test(line))
    expect(errors.filter((line) => !foreignErrors.some((known) => known.test(line)))).toEqual([])
  })

  test('runs a program and an environment', () => {
    writeFileSync(join(folder, 'program.ts'), program)
    const { stdout } = spawnSync(process.execPath, ['program.ts'], { cwd: folder, encoding: 'utf8' })
    expect(stdout).toBe('counting 3 function function\n')
    const played = perdure(JSON.stringify({ instance: 'test/7', actions: [] }), 'env', 'replay', 'db')
    expect(played).toMatchObject({ status: 0 })
  })

  test('lists every task, those without their package with the command that installs it', () => {
    const { status, output } = perdure('', 'env', 'list')
    for (const task of ['alfworld', 'bfcl', 'db', 'kg', 'os', 'webshop'])
      expect(output).toContain(`│ ${task} `)
    expect(output).toMatch(/npm install --ignore-scripts just-bash@\d/)
    expect(output).toMatch(/npm install --ignore-scripts world-countries@\d/)
    expect(status).toBe(0)
  })

  test.each([
    ['os', /npm install --ignore-scripts just-bash@\d/],
    ['kg', /npm install --ignore-scripts world-countries@\d/],
  ])('asks for the package that the task %s alone needs', (task, request) => {
    const { status, output } = perdure('', 'env', 'play', task)
    expect(output).toMatch(request)
    expect(status).not.toBe(0)
  })

  test('[ENV-TYPES-2] tests a new environment, and names what is missing to check its types', () => {
    expect(perdure('', 'env', 'new', 'my-game')).toMatchObject({ status: 0 })
    const { status, output } = perdure('', 'env', 'test', './my-game')
    expect(output).toContain('npm install --save-dev typescript @types/node')
    expect(status).toBe(0)
  })

  test('plays such a task when its package is there', () => {
    symlinkSync(
      join(root, 'node_modules', 'world-countries'),
      join(folder, 'node_modules', 'world-countries'),
    )
    const request = JSON.stringify({ instance: 'test/7', actions: [] })
    expect(perdure(request, 'env', 'replay', 'kg')).toMatchObject({ status: 0 })
  })
})
