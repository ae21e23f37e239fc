/** Paths of a configuration: the same run in whatever directory it continues. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig, parseConfig, resolveConfig } from './loader.ts'

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-paths-')))
  const installed = join(folder, 'node_modules', 'dice')
  mkdirSync(installed, { recursive: true })
  writeFileSync(join(installed, 'package.json'), '{"name":"dice","exports":{"import":"./dice.js"}}')
  writeFileSync(join(installed, 'dice.js'), '')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function fileWith(text: string): string {
  const file = join(folder, 'run.yaml')
  writeFileSync(file, text)
  return file
}

const guess =
  'tasks: [{ task: guess, from: ./guess, data: ../data }]\npolicy: { from: model }\ntrackers: { wandb: curves, mlflow: http://127.0.0.1:5000 }\nevaluation: { suites: [] }\n'

test("a path of a file starts at the file's folder, one of --set at the working directory", () => {
  const file = fileWith(guess)
  const { tasks, policy, trackers } = loadConfig({ file })
  expect(trackers).toEqual({ wandb: join(folder, 'curves'), mlflow: 'http://127.0.0.1:5000' })
  expect(tasks[0]).toMatchObject({ from: join(folder, 'guess'), data: resolve(folder, '../data') })
  expect(policy.from).toBe(join(folder, 'model'))
  const set = ['tasks.0.from=./mine', 'policy.from=model', 'learning.teacher=teacher']
  const steered = loadConfig({ file, set })
  expect(steered.tasks[0]).toMatchObject({ from: resolve('mine'), data: resolve(folder, '../data') })
  expect(steered.policy.from).toBe(resolve('model'))
  expect(steered.learning.teacher).toBe(resolve('teacher'))
})

test('an absolute path stays as it is, so that a resolved configuration resolves to itself', () => {
  const config = loadConfig({ file: fileWith(guess) })
  expect(resolveConfig(parseConfig(JSON.parse(JSON.stringify(config))))).toEqual(config)
  const url = fileWith(
    `tasks: [{ task: a, from: "${pathToFileURL('/elsewhere/a.ts').href}" }]\nevaluation: { suites: [] }\n`,
  )
  expect(loadConfig({ file: url }).tasks[0]?.from).toBe('/elsewhere/a.ts')
})

test("the name of a package is looked up from the file's folder, by what it exports", () => {
  const file = fileWith('tasks: [{ task: dice, from: dice }]\nevaluation: { suites: [] }\n')
  expect(loadConfig({ file }).tasks[0]?.from).toBe(join(folder, 'node_modules/dice/dice.js'))
})

test('custom algorithms are modules, beside the built-in names', () => {
  const file = fileWith(
    'tasks: [{ task: a, objective: ./mine }, { task: b, objective: dice }, { task: c, objective: gspo }]\n' +
      'learning: { algorithm: ../mine.ts }\nevaluation: { suites: [] }\n',
  )
  const { tasks, learning } = loadConfig({ file })
  expect(tasks.map(({ objective }) => objective)).toEqual([
    join(folder, 'mine'),
    join(folder, 'node_modules/dice/dice.js'),
    'gspo',
  ])
  expect(learning.algorithm).toBe(resolve(folder, '../mine.ts'))
  expect(() => loadConfig({ set: ['learning.algorithm=gpso'] })).toThrow(
    /`learning\.algorithm` is "gpso": expected one of grpo, .* cispo, .*, imitation, a package .*; did you mean "gspo"\?/,
  )
})

test.each([
  [
    'learning.algorithm=imitation',
    'tasks.0.objective=gspo',
    /tasks\.0\.objective` is "gspo": expected nothing where `learning\.algorithm` is imitation/,
  ],
  [
    'tasks.0.objective=imitation',
    'seed=1',
    /tasks\.0\.objective` is "imitation": expected another algorithm or a module/,
  ],
])('%s beside %s is refused', (one, other, message) => {
  expect(() => loadConfig({ set: [one, other] })).toThrow(message)
})

test.each(['no-such-package-here', 'guess/index.ts', 'fs', 'file://host/a'])(
  'a package that is not installed is named with its key and line: %s',
  (from) => {
    const file = fileWith(`tasks:\n  - task: a\n    from: ${from}\nevaluation: { suites: [] }\n`)
    expect(() => loadConfig({ file })).toThrow(
      `${file}:3: \`tasks.0.from\` is "${from}": expected a package that is installed in ${folder} or above it, or a path`,
    )
  },
)

test.each([
  ['tasks.0.data', (path: string) => `tasks: [{ task: guess, from: ./guess, data: "${path}" }]`],
  ['tasks.0.from', (path: string) => `tasks: [{ task: guess, from: "${path}" }]`],
  ['policy.from', (path: string) => `policy: { from: "${path}" }`],
  ['policy.trainer', (path: string) => `policy: { trainer: "${path}" }`],
  ['policy.trainer', (path: string) => `policy: { trainer: [python, "${path}"] }`],
  ['learning.algorithm', (path: string) => `learning: { algorithm: "${path}" }`],
  ['trackers.wandb', (path: string) => `trackers: { wandb: "${path}" }`],
])('a ~ in %s, which no shell replaced, is refused with the expanded path', (key, text) => {
  const suites = 'evaluation: { suites: [] }\n'
  for (const [path, meant] of [
    ['~/mine', join(homedir(), 'mine')],
    ['~ada/mine', 'an absolute path'],
  ] as const)
    expect(() => loadConfig({ file: fileWith(`${text(path)}\n${suites}`) })).toThrow(
      expect.objectContaining({
        problems: [
          expect.objectContaining({ key, allowed: expect.stringContaining(`${meant}: only a shell`) }),
        ],
      }),
    )
  expect(() => loadConfig({ file: fileWith(`${text('./~mine')}\n${suites}`) })).not.toThrow()
})
