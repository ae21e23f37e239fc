/**
 * The verifier of a Harbor task: its tests, run after the agent's last turn, out of the agent's reach.
 *
 * `shared`: the tests run in a new container of the task's image over the files that the agent has changed. `separate`: in a container of
 * their own, which gets the task's artifacts and nothing else. The attacks of an agent that is root, and why each gains nothing:
 *
 * - It writes the reward, the tests or links in their place: those folders are not taken over, no link into them is, and the tests come later.
 * - It replaces bash, Python or a tool, or puts others before them on the PATH: programs, libraries and Python's packages stay the image's.
 * - It leaves processes behind: its container is stopped while the tests run, and theirs is another one.
 * - It ends its container, or fills it so that it cannot be looked at: the reward is 0.
 *
 * A program of the agent's that the tests themselves execute has their rights, as in Harbor.
 *
 * Invariants
 * - [HARBOR-VERIFIER-1] Only what the verifier wrote is paid. A verifier that is late, ends or says nothing is a fault.
 * - [HARBOR-VERIFIER-2] No container outlives the verification.
 */
import type { Container, EntryOut, FileIn } from '../../../worlds/containers/sandbox.ts'
import { type Kept, layOver, lookedAt } from '../../os/containers/overlay.ts'
import type { TaskImage } from './images.ts'
import { checkSize, type HarborRoom, specOf, workingDirectoryOf } from './machine.ts'
import { noReward, type Reward, rewardIn, verifierFolder } from './reward.ts'
import type { Surroundings } from './task-file.ts'
import { filesBelow, type TaskFolder } from './task-folder.ts'

/** Comparing all files of two machines, and copying what differs. */
const overlayMs = 120_000
/** Bytes of one artifact. */
const artifactBytes = 64 * 2 ** 20

/** @returns undefined where the agent's machine has ended, or cannot be looked at @throws EnvironmentFault */
export function verify(task: TaskFolder, machine: Container, room: HarborRoom): Promise<Reward | undefined> {
  const { separate } = task.rules.verifier
  return separate === undefined
    ? verifyShared(task, machine, room)
    : verifySeparate(task, machine, room, separate)
}

async function verifyShared(
  task: TaskFolder,
  machine: Container,
  { images, settings }: HarborRoom,
): Promise<Reward | undefined> {
  const image = await images.ofAgent(task)
  const { environment } = task.rules
  const inspector = await lookedAt(machine, specOf(environment, image))
  if (inspector === undefined) return undefined
  try {
    const kept = keptFor(image)
    if (!(await layOver(inspector, image.image, { deadlineMs: overlayMs, kept }))) return undefined
    await inspector.copyIn(testsOf(task))
    return await run(task, inspector, workingDirectoryOf(environment, image), settings.reward)
  } finally {
    await inspector.release()
  }
}

async function verifySeparate(
  task: TaskFolder,
  machine: Container,
  { sandbox, images, settings }: HarborRoom,
  surroundings: Surroundings,
): Promise<Reward | undefined> {
  const artifacts = await artifactsOf(task, machine)
  if (artifacts === undefined) return undefined
  const image = await images.ofVerifier(task)
  await checkSize(task, surroundings, sandbox)
  const container = await sandbox.acquire(specOf(surroundings, image))
  try {
    await container.copyIn([...artifacts, ...(task.hasVerifierImage ? [] : testsOf(task))])
    return await run(task, container, workingDirectoryOf(surroundings, image), settings.reward)
  } finally {
    await container.release()
  }
}

async function run(
  { rules: { verifier } }: TaskFolder,
  container: Container,
  workingDirectory: string,
  key: string,
): Promise<Reward> {
  const log = `${verifierFolder}/test-stdout.txt`
  const script = `mkdir -p ${verifierFolder} && rm -rf ${verifierFolder}/reward.txt ${verifierFolder}/reward.json ${log} &&
( /tests/test.sh ) > ${log} 2>&1`
  const { ended, timedOut } = await container.exec(script, {
    deadlineMs: verifier.seconds * 1000,
    workingDirectory,
    environment: verifier.environment,
  })
  if (ended !== undefined) throw noReward(`the verifier's container ended: ${ended}`)
  if (timedOut) throw noReward(`the verifier did not end within ${verifier.seconds} s`)
  return await rewardIn(container, key)
}

function testsOf({ path }: TaskFolder): readonly FileIn[] {
  return filesBelow(`${path}/tests`).map(({ path: file, content, mode }) => ({
    path: `/tests/${file}`,
    content,
    mode: file.endsWith('.sh') ? mode | 0o555 : mode,
  }))
}

/** Files where pytest looks for its settings above the tests. */
const pytestFiles = ['pytest.ini', '.pytest.ini', 'pyproject.toml', 'tox.ini', 'setup.cfg', 'conftest.py']

function keptFor({ path }: TaskImage): Kept {
  const programFolders = path.filter((folder) => /^[\w./+-]+$/.test(folder))
  return {
    programFolders,
    folders: [verifierFolder, '/tests'],
    paths: [
      ...programFolders.flatMap(placesAbove),
      ...['logs', 'logs/verifier', 'logs/verifier/*', 'tests', 'tests/*', 'solution', 'solution/*'],
      ...['site-packages', 'dist-packages'].flatMap((name) => [`*/${name}`, `*/${name}/*`]),
      ...pytestFiles,
    ],
  }
}

/** @example placesAbove('/opt/tools/bin') // ['opt', 'opt/tools', 'opt/tools/bin'] */
function placesAbove(folder: string): readonly string[] {
  const parts = folder.split('/').filter((part) => part !== '')
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

/** The files that a separate verifier gets; undefined where the machine has ended, or they are too many. */
async function artifactsOf(
  { rules }: TaskFolder,
  machine: Container,
): Promise<readonly FileIn[] | undefined> {
  const files: FileIn[] = []
  for (const path of ['/logs/artifacts', ...rules.artifacts]) {
    const found = await copied(machine, path)
    if (found === 'ended' || found?.truncated === true) return undefined
    const isFolder = found?.entries[0]?.kind === 'folder'
    for (const entry of found?.entries ?? [])
      files.push(...fileOf(isFolder ? `${path}/${entry.path}` : path, entry))
  }
  return files
}

async function copied(machine: Container, path: string) {
  if (machine.ended !== undefined) return 'ended'
  try {
    return await machine.copyOut(path, { bytes: artifactBytes })
  } catch (fault) {
    const { ended } = await machine.exec(':')
    if (ended !== undefined) return 'ended'
    throw fault
  }
}

/** Links are left out: they would lead elsewhere in another container. */
function fileOf(path: string, { kind, content, mode, uid, gid }: EntryOut): readonly FileIn[] {
  return kind === 'file' && content !== undefined ? [{ path, content, mode: mode & 0o777, uid, gid }] : []
}
