//! Derive for enums without fields.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Fields, Result};

pub fn derive(input: &DeriveInput, data: &DataEnum) -> Result<TokenStream> {
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new_spanned(
            variant,
            "a variant of a replicated enum cannot have fields; put the fields into a struct, beside the enum",
        ));
    }
    let Some(first) = data.variants.first().map(|variant| &variant.ident) else {
        return Err(Error::new_spanned(&input.ident, "a replicated enum needs at least one variant; add one"));
    };
    let name = &input.ident;
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(ToString::to_string);
    let count = variants.len();
    let numbers = 0..count as u32;
    let numbers_again = numbers.clone();
    Ok(quote! {
        impl #name {
            const fn variant_number(&self) -> u32 {
                match self { #(Self::#variants => #numbers,)* }
            }
        }

        impl ::aether_bits::Replicate for #name {
            fn initial() -> Self {
                Self::#first
            }

            fn snap(&mut self) {}

            fn same(&self, other: &Self) -> bool {
                self.variant_number() == other.variant_number()
            }

            fn write(&self, basis: ::aether_bits::DeltaBasis<'_, Self>, fields: &mut ::aether_bits::FieldWriter<'_>) {
                ::aether_bits::write_choice(basis.value.variant_number(), self.variant_number(), #count, fields);
            }

            fn read(
                basis: ::aether_bits::DeltaBasis<'_, Self>,
                fields: &mut ::aether_bits::FieldReader<'_, '_>,
            ) -> ::core::result::Result<Self, ::aether_bits::ReadError> {
                match ::aether_bits::read_choice(basis.value.variant_number(), #count, fields)? {
                    #(#numbers_again => ::core::result::Result::Ok(Self::#variants),)*
                    _ => ::core::result::Result::Err(::aether_bits::ReadError::OutOfRange),
                }
            }

            fn kind() -> ::aether_bits::FieldKind {
                ::aether_bits::FieldKind::Choice { names: ::std::vec![#(#names.to_owned()),*] }
            }
        }
    })
}
