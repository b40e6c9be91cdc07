//! Bit packing, quantization and component schemas.
