/** The command line as a process: help, exit codes, dry run, what is on which stream. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { recordRun } from '../client/run/run-start.ts'
import { resolveConfig } from '../config/files/loader.ts'
import { initialState, type TrainingState } from '../contract/training-state.ts'
import { runId } from '../identity/identity.ts'
import { homeFlag } from '../machine/processes/typed-command.ts'
import { homeAt } from '../storage/disk/home.ts'
import { openStore } from '../storage/store.ts'
import { createProgram, runCommandLine } from './program.ts'
import { answerTo } from './terminal/answer.testing.ts'

const root = resolve(import.meta.dirname, '..')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number | string | null | undefined
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command in this process, in the empty folder. */
async function answerHere(...words: string[]): Promise<Ended> {
  const before = process.cwd()
  process.chdir(folder)
  try {
    return await answerTo(...words)
  } finally {
    process.chdir(before)
  }
}

/** Runs the command in an empty folder of its own; the machine's settings do not reach it. */
function perdure(...words: string[]): Promise<Ended> {
  const { PATH, HOME } = process.env
  return new Promise((settle) => {
    execFile(
      process.execPath,
      [join(root, 'bin/perdure.mjs'), ...words],
      { cwd: folder, env: { PATH, HOME }, timeout: 60_000 },
      (error, stdout, stderr) => settle({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })
}

test('advice names the home of the call, quoted where a shell needs it; what is written after the call does not', async () => {
  await recordRun(join(folder, 'my home#1'), 'first', resolveConfig({}))
  const given = await answerHere('status', 'nope', '--home', 'my home#1')
  expect(given.stderr).toMatch(/`npx perdure runs --home 'my home#1'` lists them/)
  expect(homeFlag()).toBe('')
})

test('a run that cannot open its home says why and ends', { timeout: 60_000 }, async () => {
  const home = join(folder, 'damaged')
  mkdirSync(home)
  writeFileSync(join(home, 'store.db'), 'this is not a database, it is a sentence')
  const { code, stderr } = await perdure('train', join(root, 'examples/smoke.yaml'), '--home', home)
  expect(code).toBe(1)
  expect(stderr).toMatch(/store\.db: it is damaged/)
})

test.runIf(process.platform === 'linux')(
  'a run under a limit of address space that is too low for it says which, and starts nothing',
  async () => {
    const home = join(folder, 'limited')
    const call = [process.execPath, join(root, 'bin/perdure.mjs'), 'train', '--home', home]
    const { status, stderr } = spawnSync('bash', ['-c', 'ulimit -v 8000000; exec "$@"', 'bash', ...call], {
      ...{ cwd: folder, encoding: 'utf8', timeout: 60_000 },
    })
    expect(stderr).toMatch(/address space is limited to 8\.2 GB.*ulimit -v unlimited/)
    expect(status).toBe(1)
    expect(existsSync(home)).toBe(false)
  },
  90_000,
)

describe('a name that there is not', { timeout: 120_000 }, () => {
  const calls = [
    'status',
    'resume',
    'eval',
    'pause',
    'stop',
    'audit',
    'promote',
    'export',
    'metrics',
    'clean',
    'schedule list',
  ]
  const cases = [
    ...calls.map((call) => `${call} fisrt`),
    'branch fisrt/g0/s0/a0 --turn 0',
    'compare fisrt fisrt',
    'rollback fisrt 1',
  ]
  const home = () => join(folder, 'with-a-run')
  beforeAll(() => recordRun(home(), 'first', resolveConfig({})))

  test.each(cases)('of a run is said with the nearest name before anything starts: %s', async (call) => {
    const { code, stderr } = await answerHere(...call.split(' '), '--home', home())
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('did you mean "first"?') })
    expect(readdirSync(home())).not.toContain('temporal.json')
  })

  test('of a task is said of the setting that gave it, with the nearest name', async () => {
    const household = join(root, 'examples/household.yaml')
    const { code, stderr } = await answerHere(
      'train',
      household,
      '--set',
      'tasks.0.task=alfwrld',
      '--home',
      home(),
    )
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: --set tasks\.0\.task=alfwrld: .*did you mean "alfworld"\?\n$/)
  })
})

describe('what the store answers alone is answered without a server', { timeout: 120_000 }, () => {
  const home = () => join(folder, 'finished')
  const done: TrainingState = {
    ...initialState(runId('first'), resolveConfig({}), 0),
    phase: 'done',
    step: 3,
    version: 3,
  }
  beforeAll(async () => {
    await recordRun(home(), 'first', resolveConfig({}))
    await using store = await openStore(homeAt(home()).storeFile)
    await store.runs.publish(runId('first'), { version: 3, state: done })
    mkdirSync(homeAt(home()).run(runId('first')).checkpointDir(3), { recursive: true })
    const { created = 0 } = (await store.runs.get(runId('first'))) ?? {}
    await store.runs.setStatus(runId('first'), 'done', { ended: created + 90_000 })
  })

  test('`resume` of a run that is done says what it came to, and the time that `status` says', async () => {
    const { code, stdout, stderr } = await answerHere('resume', 'first', '--home', home(), '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ run: 'first', phase: 'done', version: 3, seconds: 90 })
    const status = await answerHere('status', 'first', '--home', home())
    expect(status.stdout).toContain('done, after 1 min 30 s')
    expect(readdirSync(home())).not.toContain('temporal.json')
  })

  test.each([
    ['first/g9/s0/a0', 'run first has no episode first/g9/s0/a0'],
    ['first/g9', '"first/g9" is no episode id'],
  ])('`branch` refuses an episode that there is not: %s', async (episode, message) => {
    const { code, stderr } = await answerHere('branch', episode, '--turn', '0', '--home', home())
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    expect(readdirSync(home())).not.toContain('temporal.json')
  })

  test.each([
    ['eval first --suite none', 'run first has no suite "none"'],
    ['eval first@9', 'run first keeps no version 9; it has 3'],
  ])('`eval` refuses a suite and a version that there are not: %s', async (call, message) => {
    const { code, stderr } = await answerHere(...call.split(' '), '--home', home())
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
    expect(readdirSync(home())).not.toContain('temporal.json')
  })
})

describe('an empty text', () => {
  /** Every command with a value that may be given to it, and the words of that call. */
  const calls = createProgram()
    .commands.flatMap((command) => (command.commands.length === 0 ? [command] : command.commands))
    .flatMap((command) => {
      const name = command.parent?.parent ? [command.parent.name(), command.name()] : [command.name()]
      const flags = command.options
        .filter(({ required }) => required)
        .map(({ long }) => [...name, long ?? '', ''])
      const takesArguments =
        command.registeredArguments.length > 0 && !command.options.some(({ mandatory }) => mandatory)
      return [...flags, ...(takesArguments ? [[...name, '']] : [])]
    })

  test.each(calls.map((words) => [words.join(' '), words] as const))('is no value: %s', async (_, words) => {
    const said: string[] = []
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0)
    try {
      expect(await runCommandLine(words)).toBe(2)
    } finally {
      write.mockRestore()
    }
    const named = words.at(-2)?.startsWith('--') ? words.at(-2) : 'argument'
    expect(said.join('')).toContain(named)
  })

  test('is no value of a variable either', async () => {
    vi.stubEnv('PERDURE_HOME', '')
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    expect(await runCommandLine(['runs'])).toBe(2)
    write.mockRestore()
    vi.unstubAllEnvs()
  })
})

const commands = [
  ...['train', 'resume', 'status', 'runs', 'pause', 'continue', 'stop', 'eval', 'export', 'env', 'worker'],
  ...['ui', 'doctor', 'metrics', 'compare'],
]

describe('help', { timeout: 60_000 }, () => {
  test('the program lists every command and the exit codes', async () => {
    const { code, stdout } = await perdure('--help')
    expect(code).toBe(0)
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
    expect(stdout).toContain('130 interrupted and resumable')
  })

  test.each(createProgram().commands.map((command) => [command.name(), command] as const))(
    '%s --help gives examples',
    (name, command) => {
      let text = ''
      command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp()
      const inner = command.commands.map((child) => {
        let helped = ''
        child.configureOutput({ writeOut: (part) => (helped += part) }).outputHelp()
        return helped
      })
      for (const help of inner.length > 0 ? inner : [text])
        expect(help).toMatch(new RegExp(`Examples?:\\n[\\s\\S]*perdure ${name}`))
    },
  )
})

describe('a wrong call ends with 2 and a message that names the flag, key or argument', {
  timeout: 60_000,
}, () => {
  test.each([
    [['trian'], "unknown command 'trian'"],
    [['train', '--dryrun'], "unknown option '--dryrun'"],
    [['train', '--run', 'a b'], "option '--run <name>' argument 'a b' is invalid"],
    [['train', '--set', 'rollout.groupsize=4'], 'unknown key `rollout.groupsize`'],
    [['train', '--set', 'rollout.groupSize=1'], '`rollout.groupSize` is 1: expected integer from 2 to 1024'],
    [['train', 'none.yaml'], 'none.yaml: no such file'],
    [
      ['train', '--set', 'tasks.0.split=foo'],
      '`tasks.0.split` is "foo": expected a split of alfworld: train',
    ],
    [
      ['train', '--set', 'tasks.0.settings.difficulty=x'],
      '`tasks.0.settings` is {"difficulty":"x","unseenGoals":0.2}',
    ],
    [['train', '--set', 'tasks.0.data=none'], 'none": expected a folder with the official data of alfworld'],
    [['train', '--dry-run', '--set', 'policy.from=none'], 'none": expected the folder of a checkpoint: '],
    [['status', '--home', '~/runs'], 'runs: only a shell replaces "~"'],
    [['env', 'play', 'os', '--data', '~ada/os'], 'Give an absolute path: only a shell replaces "~"'],
    [['export', 'none', '--out', '~/none.jsonl'], 'none.jsonl: only a shell replaces "~"'],
    [['resume'], "missing required argument 'run'"],
    [['status', 'none'], 'RUN is "none"'],
    [['export', 'none'], 'RUN is "none"'],
    [['export', 'none', '--format', 'csv'], "option '--format <format>' argument 'csv' is invalid"],
    [['metrics', 'none', '--of', 'losses'], "option '--of <kind>' argument 'losses' is invalid"],
    [['eval', 'a@b'], "argument 'run[@version]'"],
    [['eval', 'a', '--episodes', '0'], "option '--episodes <n>' argument '0' is invalid"],
    [['worker', '--role', 'cook'], '"cook" is no role'],
    [['worker', '--role', 'policy,policy'], '"policy" is given twice'],
    [['worker', '--role', 'policy', '--slots', '0'], 'Use a whole number from 1 to 10000'],
    [['worker'], "required option '--role <role>'"],
  ])('%j', async (words, message) => {
    const { code, stdout, stderr } = await answerHere(...words)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/\n\s+at /)
    expect([code, stdout]).toEqual([2, ''])
  })

  test('all problems of a file are reported at once, with their lines', async () => {
    const file = join(folder, 'bad.yaml')
    writeFileSync(file, 'seed: x\npolcy: {}\n')
    const { code, stdout, stderr } = await answerHere('train', file)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).not.toMatch(/\n\s+at /)
    expect(stderr).toContain(`${file}:1: \`seed\``)
    expect(stderr).toContain(`${file}:2: unknown key \`polcy\``)
  })
})

describe('reports', { timeout: 60_000 }, () => {
  test('a dry run prints the resolved configuration and the plan, and starts nothing', async () => {
    vi.stubEnv('PERDURE_NO_CACHE', undefined)
    const { code, stdout } = await answerHere(
      'train',
      '--dry-run',
      '--set',
      'training.updates=5',
      '--set',
      'rollout.groupSize=8',
      '--set',
      'rollout.groupsPerUpdate=16',
      '--home',
      'dry',
    )
    expect(code).toBe(0)
    expect(stdout).toContain('updates: 5')
    expect(stdout).toMatch(/episodes +640 = 80 groups of 8/)
    expect(stdout).toMatch(
      /warm start +[\d,]+ demonstrations; one that was made from the same is taken from .*warm-starts/,
    )
    expect(stdout).toMatch(/memory +about .* = policy .* \+ KV cache up to .* optimizer/)
    expect(readdirSync(folder)).not.toContain('dry')
    vi.unstubAllEnvs()
  })

  test('with --json nothing but the document is on standard output', async () => {
    const { code, stdout, stderr } = await perdure('train', '--dry-run', '--json')
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ config: { seed: 1 }, plan: { updates: expect.any(Number) } })
  })

  test('a home without runs has none, and is not created by looking', async () => {
    const { code, stdout } = await answerHere('runs', '--json', '--home', 'empty')
    expect([code, JSON.parse(stdout)]).toEqual([0, []])
    expect(readdirSync(folder)).not.toContain('empty')
  })
})
