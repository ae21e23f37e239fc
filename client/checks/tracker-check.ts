/** Checks the folders of experiment trackers before anything starts: whether each can be made and written. */

import type { RunConfig } from '../../config/schema/schema.ts'
import { reasonOf } from '../../faults/reason.ts'
import { isServerAddress } from '../../identity/tracker-place.ts'
import { probeFolder } from '../../machine/files/folder.ts'
import { badValue } from './bad-value.ts'

/** @throws ConfigFault */
export function checkTrackers({ trackers }: RunConfig): void {
  for (const [name, folder] of Object.entries(trackers)) {
    if (folder === undefined || isServerAddress(folder)) continue
    try {
      probeFolder(folder)
    } catch (error) {
      throw badValue(`trackers.${name}`, folder, `a folder that can be written (${reasonOf(error)})`, error)
    }
  }
}
