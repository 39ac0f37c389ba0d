import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Model } from './explore.ts'
import { mutantsOfFastStep } from './mutants/fast-step.ts'
import type { Mutant } from './mutants/mutant.ts'
import { mutantsOfRest } from './mutants/rest.ts'
import { mutantsOfStep } from './mutants/step.ts'
import { topics } from './properties/index.ts'
import type { Property, Topic } from './property.ts'

const MODEL = fileURLToPath(new URL('../../src/model/', import.meta.url))
/** The same cases every time: a mistake is noticed always or never. */
const SEED = 42
const CASES = 500

/** The model with one mistake in it, or, without one, as it is. */
async function modelWith(mutant: Mutant | null): Promise<Model> {
  const patch: Plugin = {
    name: 'mutant',
    setup(bundle) {
      if (mutant === null) return
      const path = MODEL + mutant.file
      bundle.onLoad({ filter: /\.ts$/ }, async (file) => {
        if (file.path !== path) return undefined
        const source = await readFile(path, 'utf8')
        if (source.split(mutant.from).length !== 2)
          throw new Error(`not exactly once in ${mutant.file}: ${mutant.from}`)
        return { contents: source.replace(mutant.from, () => mutant.to), loader: 'ts' }
      })
    },
  }
  const { outputFiles } = await build({
    entryPoints: [`${MODEL}index.ts`],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
    plugins: [patch],
  })
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  return (await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)) as Model
}

const samples = new Map<fc.Arbitrary<unknown>, readonly unknown[]>()

function casesOf({ cases }: Property): readonly unknown[] {
  const known = samples.get(cases) ?? fc.sample(cases, { numRuns: CASES, seed: SEED })
  samples.set(cases, known)
  return known
}

/** The first property of a topic that the model breaks, case by case; null when it keeps them all. */
function firstBroken(topic: Topic, model: Model, cases: number): string | null {
  for (let index = 0; index < cases; index++) {
    for (const [promise, property] of Object.entries(topic)) {
      try {
        property.check(model, casesOf(property)[index])
      } catch {
        return promise
      }
    }
  }
  return null
}

describe('the properties of the model', () => {
  it('hold for the bundled model as it is, so that what follows is due to the mistakes', async () => {
    const model = await modelWith(null)
    for (const topic of Object.values(topics)) expect(firstBroken(topic, model, 20)).toBeNull()
  })

  it.each([...mutantsOfStep, ...mutantsOfFastStep, ...mutantsOfRest])(
    'notice when $mistake',
    async (mutant) => {
      expect(firstBroken(topics[mutant.noticedBy], await modelWith(mutant), CASES)).not.toBeNull()
    },
  )
})
