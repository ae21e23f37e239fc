/**
 * The OS task: AgentBench's items in containers where their data is given, else generated problems on a
 * virtual shell.
 *
 * Invariants
 * - Both are worked on through the same three tools, and shown and paid by the same rules.
 * - The submitted answer is the output of the last script; nothing else of the grader's knowledge is in it.
 */

import type { AssistantMessage } from '../../messages/message.ts'
import { calling } from '../contract/agent-tool.ts'
import type {
  Demonstration,
  EnvironmentDefinition,
  InstanceId,
  Task,
  TaskOptions,
} from '../contract/environment.ts'
import { needPackages } from '../contract/optional-package.ts'
import { containerAssignment, openMachineRoom } from './containers/machine.ts'
import type { MachineRoom } from './containers/preparation.ts'
import { openDataset } from './dataset.ts'
import { isQuestion, type OsItem } from './item.ts'
import { createSession } from './machine-session.ts'
import { type OsSettings, readSettings } from './settings.ts'
import { openLibrary, shellAssignment } from './shell/library.ts'
import type { ShellThreads } from './shell/threads.ts'

export const os: EnvironmentDefinition = {
  name: 'os',
  summary: 'Work on a Linux machine by bash scripts: answer questions about it, or change it as asked.',
  source: 'AgentBench os_interaction (THUDM/AgentBench @578c5e9); without it generated problems',
  licence: 'Apache-2.0 (both)',
  reward: '1 when the answer matches or the check scripts pass, else 0',
  replayable: true,
  replayableBecause:
    'generated problems have a made-up clock and dice; scripts in a container are run again, which reaches the same state except for clocks and chance',
  turnLimit: 8,
  // The first machine makes the image, and a check may take its whole minute.
  stepTimeoutSeconds: 600,
  open: openOs,
}

async function openOs(options: TaskOptions): Promise<Task> {
  const settings = readSettings(options.settings)
  return options.dataDir === undefined
    ? openGenerated(settings)
    : openOfficial(options.dataDir, options, settings)
}

async function openOfficial(dataDir: string, options: TaskOptions, settings: OsSettings): Promise<Task> {
  const dataset = await openDataset(dataDir)
  let opened: Promise<MachineRoom & { close(): Promise<void> }> | undefined
  // Found on first use: what is only listed needs no engine.
  const room = () => {
    opened ??= openMachineRoom(settings, options)
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
  return {
    splits: dataset.splits,
    warnings: dataset.warnings,
    instanceAt: dataset.instanceAt,
    create: async () =>
      createSession({
        assignmentOf: (instance) => containerAssignment(dataset.open(instance), room),
        prompt: settings.prompt,
      }),
    demonstrate: (instance) => demonstrateByExample(instance, dataset.open(instance), room),
    close: async () => {
      await (await opened)?.close()
      opened = undefined
    },
  }
}

function openGenerated(settings: OsSettings): Task {
  needPackages('os', 'just-bash')
  const library = openLibrary(settings)
  let opened: Promise<ShellThreads> | undefined
  const threads = () => {
    opened ??= import('./shell/threads.ts').then(
      ({ ShellThreads: Threads }) =>
        new Threads({ threads: settings.threads, deadlineMs: settings.scriptSeconds * 1_000 }),
    )
    return opened
  }
  return {
    splits: library.splits,
    instanceAt: library.instanceAt,
    create: async () =>
      createSession({
        assignmentOf: (instance) => shellAssignment(library.open(instance), threads),
        prompt: settings.prompt,
      }),
    demonstrate: async (instance) => {
      const { solution, goal } = library.open(instance).problem
      const end = goal.kind === 'answer' ? answers(goal.answer) : finishes('done')
      return { instance, actions: [...solution.map(runs), end] }
    },
    close: async () => {
      await (await opened)?.close()
      opened = undefined
    },
  }
}

/** The agent's message that runs a script. */
export function runs(script: string): AssistantMessage {
  return calling('bash_action', { script })
}

/** The agent's message that answers. */
export function answers(answer: string): AssistantMessage {
  return calling('answer_action', { answer })
}

/** The agent's message that says the work is done. */
export function finishes(thought: string): AssistantMessage {
  return calling('finish_action', { thought })
}

/**
 * The example solution of an official item, played on a machine; undefined where there is none in bash or
 * where it does not fulfil the item.
 */
async function demonstrateByExample(
  instance: InstanceId,
  item: OsItem,
  room: () => Promise<MachineRoom>,
): Promise<Demonstration | undefined> {
  const { example } = item
  if (example?.language !== 'bash') return undefined
  const machine = await containerAssignment(item, room).open()
  try {
    const answer = (await machine.run(example.code)).output.trim()
    const asks = isQuestion(item)
    const submission = asks
      ? ({ kind: 'answer', answer } as const)
      : ({ kind: 'finish', thought: 'done' } as const)
    if (!(await machine.grade(submission))) return undefined
    return { instance, actions: [runs(example.code), asks ? answers(answer) : finishes('done')] }
  } finally {
    await machine.close()
  }
}
