export { conformanceCases } from './conformance/cases.ts'
export { type RunOptions, runConformance } from './conformance/run.ts'
export type {
  CaseContext,
  ConformanceCase,
  ConformanceReport,
  ConformanceTarget,
  FaultHooks,
  Skip,
  Topic,
} from './conformance/target.ts'
export { FakeRuntime } from './fake-runtime.ts'
export { type CallName, type Fault, Faults, Gate, LostCallError, type NoticeFate } from './faults.ts'
export { type FaultyStore, faulty } from './faulty.ts'
