export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'blue' | 'magenta'
export type Paint = (style: Style, text: string) => string
