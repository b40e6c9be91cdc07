//! The `Replicate` derive. Use it through `aether-bits`.

mod attribute;
mod choice;
mod record;

use proc_macro::TokenStream;
use syn::{Data, DeriveInput, Error, parse_macro_input};

/// Derives how a struct (a component, an input, an event, or a part of one) or a field-less enum is packed.
///
/// On the struct, `#[replicate(channel = "movement", place = position)]`: the feature channel under which JSON
/// clients find it (`state` if not said), and the `[f32; 2]` field, or the two `f32` fields `place(x, y)`, that say
/// where the entity is.
///
/// On a field, one of:
///
/// | attribute | field type |
/// |---|---|
/// | none | `bool`, integers up to 32 bits, or another type that derives `Replicate` |
/// | `range = -10..=10` | an integer |
/// | `range = -1000.0..=1000.0, step = 0.01` | `f32`, or `[f32; N]` of up to 4 |
/// | `angle = 8` | `f32` in radians, in so many bits |
/// | `rotation = 9` | `[f32; 4]`, a quaternion, smallest three in so many bits each |
/// | `unit_vector = 10` | `[f32; 3]` of length one, smallest two in so many bits each |
/// | `text = 24` | `String` of up to so many bytes |
/// | `list = 8` | `Vec` of up to so many elements; the element's own attributes may follow |
/// | `skip` | anything with `Default`; it is not replicated |
///
/// and further `default = …` (what a fresh record holds) and `moves_by = velocity` (the field is expected to move by
/// another field of the same shape, a second; only the deviation is sent).
#[proc_macro_derive(Replicate, attributes(replicate))]
pub fn derive_replicate(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let result = match &input.data {
        Data::Struct(data) => record::derive(&input, data),
        Data::Enum(data) => choice::derive(&input, data),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union cannot be replicated")),
    };
    result.unwrap_or_else(Error::into_compile_error).into()
}
