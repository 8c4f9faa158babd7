/** The part of parquetjs-lite that writes, as we use it. */
declare module 'parquetjs-lite' {
  import type { Writable } from 'node:stream';

  export interface Column {
    type?: string;
    optional?: boolean;
    repeated?: boolean;
    /** UNCOMPRESSED, GZIP or SNAPPY. */
    compression?: string;
    /** False where no smallest and largest value is kept. */
    statistics?: boolean;
    fields?: Record<string, Column>;
  }

  class ParquetSchema {
    constructor(columns: Record<string, Column>);
  }

  class ParquetWriter {
    static openFile(schema: ParquetSchema, path: string): Promise<ParquetWriter>;
    static openStream(
      schema: ParquetSchema,
      stream: Writable,
      options: { useDataPageV2?: boolean; pageSize?: number },
    ): Promise<ParquetWriter>;
    appendRow(row: object): Promise<void>;
    close(): Promise<void>;
  }

  const parquet: { ParquetSchema: typeof ParquetSchema; ParquetWriter: typeof ParquetWriter };
  export default parquet;
}
