import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EnvironmentFault } from '../../contract/environment.ts'
import { remoteEnvironment } from '../remote-environment.ts'
import { nothing, solutionOf } from './demonstration.ts'
import { basesOf, instructionsOf, withBases } from './dockerfile.ts'
import { filesBelow, readTaskFolders } from './task-folder.ts'
import { lineOfKey } from './toml-place.ts'

const examples = join(import.meta.dirname, '../../../examples/harbor/tasks')
const plain = { env: {} }

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-harbor-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Writes a task folder. @param files that differ from those of a task that can be played; `null` leaves one out */
function write(name: string, files: Readonly<Record<string, string | null>> = {}): void {
  const all = {
    'task.toml': 'schema_version = "1.4"\n',
    'instruction.md': 'Do it.\n',
    'environment/Dockerfile': 'FROM debian\n',
    'tests/test.sh': '#!/bin/bash\n',
    ...files,
  }
  for (const [file, text] of Object.entries(all)) {
    const path = join(folder, name, file)
    mkdirSync(dirname(path), { recursive: true })
    if (text !== null) writeFileSync(path, text)
  }
}

// [HARBOR-FOLDER-1] [HARBOR-FILE-1] [HARBOR-FILE-2]
test.each([
  ['task.toml:1', 'schema_version is "2.0"', { 'task.toml': 'schema_version = "2.0"\n' }],
  ['task.toml:2', 'version is "new"', { 'task.toml': '# old\nversion = "new"\n' }],
  ['task.toml:3', 'it is no TOML', { 'task.toml': '[agent]\ntimeout_sec = 1\nand then\n' }],
  ...(['public', 'allowlist'] as const).map(
    (mode) =>
      [
        'task.toml:2',
        `environment.network_mode is ${mode}`,
        { 'task.toml': `[environment]\nnetwork_mode = "${mode}"\n` },
      ] as const,
  ),
  ['task.toml:3', 'network_mode is "vpn"', { 'task.toml': '[agent]\n\nnetwork_mode = "vpn"\n' }],
  ['task.toml:2', 'allow_internet is true', { 'task.toml': '[environment]\nallow_internet = true\n' }],
  ['task.toml:4', 'gpus is 1', { 'task.toml': '[agent]\n[environment]\ncpus = 2\ngpus = 1\n' }],
  ['task.toml:2', 'timeout_sec is -1', { 'task.toml': '[agent]\ntimeout_sec = -1\n' }],
  ['task.toml:2', 'verifier.user is agent', { 'task.toml': '[verifier]\nuser = "agent"\n' }],
  ['task.toml:1', 'steps', { 'task.toml': '[[steps]]\nname = "one"\n' }],
  ['task.toml:1', 'healthcheck', { 'task.toml': '[environment.healthcheck]\ncommand = "true"\n' }],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the file
  ['task.toml:2', 'refers to ${KEY}', { 'task.toml': '[environment.env]\nA = "${KEY}"\n' }],
  ['task.toml:2', 'memory is "much"', { 'task.toml': '[environment]\nmemory = "much"\n' }],
  ['tests/test.sh', 'there is no such file', { 'tests/test.sh': null }],
  ['instruction.md', '', { 'instruction.md': null }],
  ['instruction.md', 'it says nothing', { 'instruction.md': '<!-- a canary -->\n' }],
  ['environment/docker-compose.yaml:1', 'several containers', { 'environment/docker-compose.yaml': '' }],
  ['environment/Dockerfile:3', 'USER agent', { 'environment/Dockerfile': 'FROM a\n\nUSER agent\n' }],
  ['environment/Dockerfile:2', 'ENTRYPOINT', { 'environment/Dockerfile': 'FROM a\nENTRYPOINT ["/x"]\n' }],
  ['environment/Dockerfile:1', 'no FROM', { 'environment/Dockerfile': 'RUN true\n' }],
] as const)('a folder is left out by %s (%s), and the others are played', (place, reason, files) => {
  write('bad', files)
  write('good')
  const { tasks, warnings } = readTaskFolders(folder, plain, undefined)
  expect([...tasks.keys()]).toEqual(['good'])
  expect(warnings).toEqual([expect.stringContaining(join(folder, 'bad', place))])
  expect(warnings[0]).toContain(reason)
})

test('a task is played without the network that it asks for where the settings say so', () => {
  write('open', { 'task.toml': '[environment]\nnetwork_mode = "public"\n' })
  expect(readTaskFolders(folder, { env: {}, network: 'none' }, undefined).warnings).toEqual([])
})

test('times, resources and variables are those of the file, also by the names of schema 1.0', () => {
  write('old', {
    'task.toml':
      // biome-ignore lint/suspicious/noTemplateCurlyInString: references of the file
      'version = "1.0"\n[agent]\ntimeout_sec = 9\n[environment]\ncpus = 2\nmemory = "2G"\nstorage = "512M"\n[environment.env]\nA = "${KEY}/${B:-b}"\n',
  })
  const { rules } = readTaskFolders(folder, { env: { KEY: 'k' } }, 'old').tasks.get('old') ?? {}
  expect(rules).toMatchObject({
    agentSeconds: 9,
    environment: { cores: 2, memoryBytes: 2 ** 31, diskBytes: 2 ** 29, environment: { A: 'k/b' } },
    verifier: { seconds: 600, separate: undefined },
  })
})

test.each([
  ['a folder that is not there', () => join(folder, 'none'), /none cannot be read: give an existing folder/],
  ['an empty folder', () => folder, /holds no task; expected a task\.toml in it, or in folders of it/],
])('%s is refused with its path and what was expected', async (_, pathOf, message) => {
  const opened = remoteEnvironment(`harbor+${pathOf()}`, 'it').open({})
  await expect(opened).rejects.toThrow(message)
  await expect(opened).rejects.toBeInstanceOf(EnvironmentFault)
})

test('a folder in which no task can be played is refused with the reasons', async () => {
  write('bad', { 'tests/test.sh': null })
  await expect(remoteEnvironment(`harbor+${folder}`, 'it').open({})).rejects.toThrow(/bad\/tests\/test\.sh/)
})

// [HARBOR-TASK-1]
describe('instances', () => {
  const open = (settings = {}, name = '') =>
    remoteEnvironment(`harbor+${examples}${name}`, 'it').open({ settings })

  test('are the folders, in one split', async () => {
    const { splits, warnings, instanceAt } = await open()
    expect([splits, warnings]).toEqual([[{ name: 'train', size: 10 }], []])
    expect([instanceAt('train', 0), instanceAt('train', 11)]).toEqual(['change-setting', 'count-files'])
  })

  test('are in the splits that the settings name, or the one that the address names', async () => {
    const divided = await open({ splits: { train: ['p*', 'sum-column'], test: ['count-files'] } })
    expect(divided.splits).toEqual([
      { name: 'train', size: 4 },
      { name: 'test', size: 1 },
    ])
    expect((await open({}, '#fix-program')).splits).toEqual([{ name: 'train', size: 1 }])
    await expect(open({ splits: { train: ['nothing*'] } })).rejects.toThrow(/splits\.train names "nothing\*"/)
    await expect(open({}, '#nothing')).rejects.toThrow(/has no task "nothing": use #change-setting/)
  })

  test('of a folder that is a task itself are that task', async () => {
    const { instanceAt } = await remoteEnvironment(`harbor+${examples}/sum-column`, 'it').open({})
    expect(instanceAt('train', 0)).toBe('sum-column')
  })
})

test('a solution without other files is one command, any other is written to the container first', () => {
  const { tasks } = readTaskFolders(examples, plain, undefined)
  const commandsOf = (name: string) =>
    solutionOf(tasks.get(name) as never)?.map(({ tool_calls: calls }) => calls?.[0]?.name)
  expect(commandsOf('count-files')).toEqual(['bash', 'done'])
  expect(commandsOf('pack-folder')).toEqual(['bash', 'bash', 'bash', 'done'])
  write('unsolved')
  const [unsolved] = readTaskFolders(folder, plain, undefined).tasks.values()
  expect(solutionOf(unsolved as never)).toBeUndefined()
  expect(nothing).toHaveLength(1)
})

// [HARBOR-FOLDER-2]
test('files of a folder are those that lie in it, and no link is followed', () => {
  write('linked', { 'tests/data/a.txt': 'a' })
  symlinkSync('/etc/passwd', join(folder, 'linked/tests/passwd'))
  symlinkSync('/etc', join(folder, 'linked/tests/etc'))
  expect(filesBelow(join(folder, 'linked/tests')).map(({ path }) => path)).toEqual(['data/a.txt', 'test.sh'])
  expect(filesBelow(join(folder, 'none'))).toEqual([])
})

// [TOML-PLACE-1]
test('a key is found in its table, dotted or inline, and else where its table begins', () => {
  const text = 'a = 1\n[b]\nc = 1\n[b.d]\ne = { f = 1 }\n[[g]]\nh.i = 1\n'
  expect(lineOfKey(text, ['a'])).toBe(1)
  expect(lineOfKey(text, ['b', 'c'])).toBe(3)
  expect(lineOfKey(text, ['b', 'missing'])).toBe(2)
  expect(lineOfKey(text, ['b', 'd', 'e', 'f'])).toBe(5)
  expect(lineOfKey(text, ['g', 0, 'h', 'i'])).toBe(7)
  expect(lineOfKey(text, ['nothing'])).toBe(1)
})

// [DOCKERFILE-1]
test('instructions of a Dockerfile have their lines, and its bases can be replaced', () => {
  const text =
    '# a\nFROM one AS first\nRUN a && \\\n  # why\n  b\n\nfrom two\nCOPY --from=first /a /b\nFROM first\n'
  const instructions = instructionsOf(text)
  expect(instructions.map(({ line, name }) => [line, name])).toEqual([
    [2, 'FROM'],
    [3, 'RUN'],
    [7, 'FROM'],
    [8, 'COPY'],
    [9, 'FROM'],
  ])
  expect(basesOf(instructions)).toEqual(['one', 'two'])
  expect(withBases(text, { two: 'three' })).toContain('from three')
})
