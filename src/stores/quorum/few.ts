/** Looking through so many is as quick as looking one up. */
const FEW = 16

/**
 * What is known of claims by their ids: of a few at a time, mostly. A map that is filled and emptied again and again leaves its
 * old tables behind, and what these refer to outlives many collections.
 */
export class Few<V> {
  private readonly ids: string[] = []
  private readonly values: V[] = []
  private many: Map<string, V> | null = null

  get(id: string): V | undefined {
    if (this.many !== null) return this.many.get(id)
    const place = this.ids.lastIndexOf(id)
    return place < 0 ? undefined : this.values[place]
  }

  set(id: string, value: V): void {
    if (this.many !== null) {
      this.many.set(id, value)
      return
    }
    const place = this.ids.lastIndexOf(id)
    if (place >= 0) this.values[place] = value
    else {
      this.ids.push(id)
      this.values.push(value)
      if (this.ids.length > FEW) this.become(new Map(this.entries()))
    }
  }

  delete(id: string): boolean {
    if (this.many !== null) {
      const found = this.many.delete(id)
      if (this.many.size === 0) this.many = null
      return found
    }
    const place = this.ids.lastIndexOf(id)
    if (place < 0) return false
    const lastId = this.ids.pop() as string
    const last = this.values.pop() as V
    if (place < this.ids.length) {
      this.ids[place] = lastId
      this.values[place] = last
    }
    return true
  }

  /** In no order. */
  entries(): [string, V][] {
    if (this.many !== null) return [...this.many]
    return this.ids.map((id, place) => [id, this.values[place] as V])
  }

  clear(): void {
    this.become(null)
  }

  private become(many: Map<string, V> | null): void {
    this.many = many
    this.ids.length = 0
    this.values.length = 0
  }
}
