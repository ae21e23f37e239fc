/**
 * Tracking: the folders and servers of a run's experiment trackers, brought up to date from the store.
 *
 * Invariants
 * - [TRACKING-1] A tracker's files hold each update and each evaluation of the store once, however often the run was
 *   interrupted and whatever was in the files before.
 * - A tracker that is not asked for is not loaded.
 * - [TRACKING-2] A server is sent one state of a run at a time, the latest one last; what came meanwhile is not queued up.
 */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RunId } from '../../identity/identity.ts'
import { isServerAddress } from '../../identity/tracker-place.ts'
import { makeFolder } from '../../machine/files/folder.ts'
import { storageFaultOf } from '../disk/fault.ts'
import { growFile } from '../disk/grown-file.ts'
import type { Store } from '../store.ts'
import { scalarRows, type TrackedRun, type Tracker, type TrackerFile } from './tracked-run.ts'

export const trackerNames = ['tensorboard', 'wandb', 'mlflow'] as const
export type TrackerName = (typeof trackerNames)[number]

/** Where each tracker keeps runs: a folder, or a server where it has one. */
export type TrackerPlaces = { readonly [N in TrackerName]?: string | undefined }

const loaders: Readonly<Record<TrackerName, () => Promise<Tracker>>> = {
  tensorboard: async () => (await import('./tensorboard.ts')).tensorboardFiles,
  wandb: async () => (await import('./wandb.ts')).wandbFiles,
  mlflow: async () => (await import('./mlflow.ts')).mlflowFiles,
}

/** Uploads that go on after the folders are written. */
export interface Tracking {
  /** Ends when servers have what the store had; rejects with a StorageFault where one does not take it. */
  readonly sent: Promise<void>
}

/** Writes what the folders lack of a run, and begins to send what servers lack. @throws StorageFault */
export async function writeTrackers(store: Store, run: RunId, places: TrackerPlaces): Promise<Tracking> {
  const wanted = trackerNames.flatMap((name) => {
    const place = places[name]
    return place === undefined ? [] : [{ place, load: loaders[name] }]
  })
  const folders = await Promise.all(
    wanted
      .filter(({ place }) => !isServerAddress(place))
      .map(async ({ place, load }) => ({ folder: place, files: await load() })),
  )
  const servers = wanted.filter(({ place }) => isServerAddress(place)).map(({ place }) => place)
  if (wanted.length === 0) return { sent: Promise.resolve() }
  const sendings: Promise<void>[] = []
  await store.metrics.whileAlone(run, (stored, lines) => {
    const tracked = {
      ...stored,
      config: stored.config as Readonly<Record<string, unknown>>,
      rows: scalarRows(lines, stored.created),
    }
    for (const { folder, files } of folders) for (const file of files(tracked, folder)) write(folder, file)
    for (const url of servers) sendings.push(send(tracked, url))
  })
  const sent = Promise.all(sendings).then(() => undefined)
  // Who does not wait for it is not ended by it.
  sent.catch(() => undefined)
  return { sent }
}

/** Runs that wait to be sent, and those being sent, by server and run. */
const waiting = new Map<string, TrackedRun>()
const sending = new Map<string, Promise<void>>()

function send(run: TrackedRun, url: string): Promise<void> {
  const key = `${url} ${run.id} ${run.created}`
  waiting.set(key, run)
  const before = sending.get(key) ?? Promise.resolve()
  const after = before
    .catch(() => undefined)
    .then(async () => {
      const latest = waiting.get(key)
      waiting.delete(key)
      // Sent with a later call, which waited less long.
      if (latest === undefined) return
      const { sendToMlflow } = await import('./mlflow-server.ts')
      await sendToMlflow(latest, url)
    })
  sending.set(key, after)
  const forget = () => {
    if (sending.get(key) === after) sending.delete(key)
  }
  after.then(forget, forget)
  return after
}

function write(folder: string, { path, content, shared }: TrackerFile): void {
  const file = join(folder, path)
  if (shared === true && existsSync(file)) return
  const what = `tracker's file ${file}`
  try {
    makeFolder(dirname(file))
  } catch (error) {
    throw storageFaultOf(error, what)
  }
  growFile(file, content, { what })
}
