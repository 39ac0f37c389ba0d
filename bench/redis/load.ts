/** From the packages of this folder, which are there only when they are measured: so nothing names them to a compiler. */
export function load<T>(name: string): Promise<T> {
  return import(name) as Promise<T>
}
