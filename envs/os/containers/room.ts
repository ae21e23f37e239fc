/**
 * The containers of one task: one sandbox, images found once.
 *
 * Invariants
 * - The engine is only spoken to when the first machine is needed; closing leaves no container.
 */
import type { TaskOptions } from '../../environment.ts'
import type { OsSettings } from '../settings.ts'
import { createImages } from './image.ts'
import type { MachineRoom } from './preparation.ts'

/** @throws EnvironmentFault backend where no engine answers, with what to do */
export async function openMachineRoom(
  { image, scriptSeconds, needs }: Pick<OsSettings, 'image' | 'scriptSeconds' | 'needs'>,
  { folder, leases }: Pick<TaskOptions, 'folder' | 'leases'> = {},
): Promise<MachineRoom & { close(): Promise<void> }> {
  const { openSandbox } = await import('../../sandbox/open.ts')
  const sandbox = await openSandbox({ leases })
  return {
    sandbox,
    imageOf: createImages(sandbox, image, { folder, leases }),
    scriptMs: scriptSeconds * 1_000,
    needs,
    close: () => sandbox.close(),
  }
}
