import { expect, it } from 'vitest'
import { crowdedFolders, cyclesOfRooms } from './rooms.ts'

// [ROOMS-1]
it('rooms that need each other through a third are reported, and imports within a room or of a test are not', () => {
  const straight: readonly (readonly [string, string])[] = [
    ['a/x/one.ts', "import { two } from '../y/two.ts'"],
    ['a/y/two.ts', "import type { Three } from '../../b/three.ts'"],
    ['b/three.ts', "import { four } from './four.ts'"],
    ['b/four.ts', ''],
    ['b/four.test.ts', "import { one } from '../a/x/one.ts'"],
  ]
  expect(cyclesOfRooms(new Map(straight))).toEqual([])
  const round = new Map([...straight, ['b/four.ts', "export { one } from '../a/x/one.ts'"]])
  expect(cyclesOfRooms(round)).toEqual([
    'a/x and a/y need each other: a/x/one.ts imports a/y/two.ts',
    'a/y and b need each other: a/y/two.ts imports b/three.ts',
    'b and a/x need each other: b/four.ts imports a/x/one.ts',
  ])
})

// [ROOMS-2]
it('a folder of 25 files is allowed and one of 26 is not; files in folders below it do not count', () => {
  const files = Array.from({ length: 25 }, (_, index) => `a/${index}.ts`)
  expect(crowdedFolders([...files, 'a/b/c.ts'])).toEqual([])
  expect(crowdedFolders([...files, 'a/c.ts'])).toEqual(['a/ has 26 files, at most 25 are allowed'])
})
