/**
 * A trainer in another process, in any language: `policy.trainer: [COMMAND, ARGUMENT…]`.
 *
 * Invariants
 * - Its results are examined like those of every trainer that is not Perdure's (`examined-trainer.ts`).
 */

import type { Trainer } from '../trainer.ts'
import { createExaminedTrainer, type StartedTrainer } from './examined-trainer.ts'
import { type TrainerCommand, TrainerProcess } from './trainer-process.ts'

/** @param embedded does what the program does not offer */
export function createProcessTrainer(command: TrainerCommand, embedded: Trainer): Trainer {
  return createExaminedTrainer((signal) => startProcessTrainer(command, signal), embedded)
}

/** The program alone, whose results no one examines. @throws TrainerFault */
export async function startProcessTrainer(
  command: TrainerCommand,
  signal?: AbortSignal,
): Promise<StartedTrainer> {
  const { process, methods, losses } = await TrainerProcess.start(command, signal)
  return {
    ...{ methods, losses },
    get isLost() {
      return process.isLost
    },
    ask: ({ method, params }, schema, asking) => process.ask(method, params, schema, asking),
    lose: (kind, reason) => process.lose(kind, reason),
    end: () => process.end(),
  }
}
