//! `Replicate` derive. Use it through `aether-bits`.

mod attribute;
mod choice;
mod facade;
mod record;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Derives the packing of a struct (a component, an input, an event, or a part of one) or of an enum without fields.
///
/// The struct takes `#[replicate(channel = "movement", position = position)]`:
///
/// - `channel`: the feature channel of the component in JSON. The default is `state`.
/// - `position = field`, `position(x, y)` or `position(x, y, z)`: the field of type `[f32; 2]` or `[f32; 3]`, or the
///   two or three `f32` fields, that hold the entity's position. `place` is the old name of this attribute and is still accepted in this version.
///
/// A field takes one of:
///
/// | attribute | field type |
/// |---|---|
/// | none | `bool`, integers up to 32 bits, or another type that derives `Replicate` |
/// | `range = -10..=10` | an integer |
/// | `range = -1000.0..=1000.0, step = 0.01` | `f32`, or `[f32; N]` of up to 4 |
/// | `angle = 8` | `f32` in radians, in this many bits |
/// | `rotation = 9` | `[f32; 4]`, a quaternion; the smallest three components, in this many bits each |
/// | `unit_vector = 10` | `[f32; 3]` of length one; the smallest two components, in this many bits each |
/// | `text = 24` | `String` of up to this many bytes |
/// | `list = 8` | `Vec` of up to this many elements; the attributes of an element may follow |
/// | `skip` | any type with `Default`; it is not replicated |
///
/// It may also take `default = …`, the value in a new record, and `moves_by = velocity`: the field is expected to move
/// by another field of the same shape, per second, and only the deviation is sent.
#[proc_macro_derive(Replicate, attributes(replicate))]
pub fn derive_replicate(input: TokenStream) -> TokenStream {
    derive(&parse_macro_input!(input as DeriveInput)).into()
}

/// The same derive, for crates that use `aether-bits` as `aether::bits`.
#[proc_macro_derive(FacadeReplicate, attributes(replicate))]
pub fn derive_facade_replicate(input: TokenStream) -> TokenStream {
    facade::in_facade(derive(&parse_macro_input!(input as DeriveInput))).into()
}

fn derive(input: &DeriveInput) -> proc_macro2::TokenStream {
    let result = match &input.data {
        Data::Struct(data) => record::derive(input, data),
        Data::Enum(data) => choice::derive(input, data),
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "a union cannot be replicated; use a struct, or an enum without fields",
        )),
    };
    result.unwrap_or_else(Error::into_compile_error)
}
