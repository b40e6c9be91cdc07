//! Derive for structs.

use crate::attribute::{FieldAttributes, RecordAttributes};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataStruct, DeriveInput, Error, Fields, Ident, Result, Type};

struct Field<'a> {
    name: &'a Ident,
    ty: &'a Type,
    attributes: FieldAttributes,
}

pub fn derive(input: &DeriveInput, data: &DataStruct) -> Result<TokenStream> {
    let record = RecordAttributes::parse(&input.attrs)?;
    let fields = parse_fields(data)?;
    let replicate = implement_replicate(input, &fields)?;
    let component = implement_component(input, &record, &fields)?;
    Ok(quote!(#replicate #component))
}

fn parse_fields(data: &DataStruct) -> Result<Vec<Field<'_>>> {
    let fields = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(fields) => {
            return Err(Error::new_spanned(
                fields,
                "a tuple struct cannot be replicated; give its fields names: `struct Name { field: … }`",
            ));
        }
    };
    fields
        .into_iter()
        .map(|field| {
            let name =
                field.ident.as_ref().ok_or_else(|| Error::new_spanned(field, "a replicated field needs a name"))?;
            Ok(Field { name, ty: &field.ty, attributes: FieldAttributes::parse(&field.attrs)? })
        })
        .collect()
}

impl Field<'_> {
    fn codec(&self) -> TokenStream {
        self.attributes.codec.clone().unwrap_or_else(|| quote!(::aether_bits::codec::ByType))
    }

    fn initial(&self) -> TokenStream {
        let (ty, codec) = (self.ty, self.codec());
        match &self.attributes.default {
            _ if self.attributes.skip => quote!(::core::default::Default::default()),
            Some(default) => quote!({
                let mut value: #ty = #default;
                ::aether_bits::codec::Codec::<#ty>::snap(&#codec, &mut value);
                value
            }),
            None => quote!(::aether_bits::codec::Codec::<#ty>::initial(&#codec)),
        }
    }
}

fn implement_replicate(input: &DeriveInput, fields: &[Field<'_>]) -> Result<TokenStream> {
    let name = &input.ident;
    let sent: Vec<_> = fields.iter().filter(|field| !field.attributes.skip).collect();
    let names: Vec<_> = sent.iter().map(|field| field.name).collect();
    let types: Vec<_> = sent.iter().map(|field| field.ty).collect();
    let codecs: Vec<_> = sent.iter().map(|field| field.codec()).collect();
    let all_names = fields.iter().map(|field| field.name);
    let initials = fields.iter().map(Field::initial);
    let skipped: Vec<_> = fields.iter().filter(|field| field.attributes.skip).map(|field| field.name).collect();
    // A field that moves by another one is packed after it.
    let (still, moving): (Vec<&Field<'_>>, Vec<&Field<'_>>) =
        sent.iter().partition(|field| field.attributes.moves_by.is_none());
    let in_order: Vec<_> = still.into_iter().chain(moving).collect();
    let writes = in_order.iter().map(|field| write(field, &sent)).collect::<Result<Vec<_>>>()?;
    let reads = in_order.iter().map(|field| read(field));
    let descriptors = sent.iter().map(|field| describe(field, &sent));
    let same = sent.iter().map(|field| compare(field));
    Ok(quote! {
        impl ::aether_bits::Replicate for #name {
            fn initial() -> Self {
                #name { #(#all_names: #initials,)* }
            }

            #[inline]
            fn snap(&mut self) {
                #(::aether_bits::codec::Codec::<#types>::snap(&const { #codecs }, &mut self.#names);)*
            }

            #[inline]
            fn same(&self, other: &Self) -> bool {
                true #(&& #same)*
            }

            #[inline(always)]
            fn write(&self, basis: ::aether_bits::DeltaBasis<'_, Self>, fields: &mut ::aether_bits::FieldWriter<'_>) {
                #(#writes)*
            }

            #[inline]
            fn read(
                basis: ::aether_bits::DeltaBasis<'_, Self>,
                fields: &mut ::aether_bits::FieldReader<'_, '_>,
            ) -> ::core::result::Result<Self, ::aether_bits::ReadError> {
                #(#reads)*
                ::core::result::Result::Ok(#name {
                    #(#names,)*
                    #(#skipped: ::core::default::Default::default(),)*
                })
            }

            fn kind() -> ::aether_bits::FieldKind {
                ::aether_bits::FieldKind::Record { fields: ::std::vec![#(#descriptors),*] }
            }
        }
    })
}

fn write(field: &Field<'_>, sent: &[&Field<'_>]) -> Result<TokenStream> {
    let (name, ty, codec) = (field.name, field.ty, field.codec());
    let Some(velocity) = &field.attributes.moves_by else {
        return Ok(quote! {
            ::aether_bits::codec::Codec::<#ty>::write(
                &const { #codec }, basis.field(|record| &record.#name), &self.#name, fields,
            );
        });
    };
    let by = sent.iter().find(|other| other.name == velocity);
    if by.is_none_or(|by| by.attributes.moves_by.is_some()) {
        let text = format!(
            "`moves_by = {velocity}` does not name a usable field; write a replicated field of this struct that has no \
             `moves_by` itself",
        );
        return Err(Error::new_spanned(velocity, text));
    }
    Ok(quote! {
        const { #codec }.write_moving(
            basis.field(|record| &record.#name), (&basis.value.#velocity, &self.#velocity), &self.#name, fields,
        );
    })
}

fn read(field: &Field<'_>) -> TokenStream {
    let (name, ty, codec) = (field.name, field.ty, field.codec());
    match &field.attributes.moves_by {
        None => quote! {
            let #name = ::aether_bits::codec::Codec::<#ty>::read(
                &const { #codec }, basis.field(|record| &record.#name), fields,
            )?;
        },
        Some(velocity) => quote! {
            let #name = const { #codec }.read_moving(
                basis.field(|record| &record.#name), (&basis.value.#velocity, &#velocity), fields,
            )?;
        },
    }
}

fn compare(field: &Field<'_>) -> TokenStream {
    let name = field.name;
    match field.attributes.codec {
        Some(_) => quote!(self.#name == other.#name),
        None => quote!(::aether_bits::Replicate::same(&self.#name, &other.#name)),
    }
}

fn describe(field: &Field<'_>, sent: &[&Field<'_>]) -> TokenStream {
    let (ty, codec, text, initial) = (field.ty, field.codec(), field.name.to_string(), field.initial());
    let moves_by = field.attributes.moves_by.as_ref();
    let moves_by = match moves_by.and_then(|by| sent.iter().position(|other| other.name == by)) {
        Some(index) => {
            let index = index as u8;
            quote!(::core::option::Option::Some(#index))
        }
        None => quote!(::core::option::Option::None),
    };
    quote! {
        ::aether_bits::schema::describe_field::<#ty, _>(#text, &#codec, &#initial, #moves_by)
    }
}

/// Forms of the attribute, for errors.
const POSITION_FORMS: &str = "`position = field`, `position(x, y)` or `position(x, y, z)`";

fn implement_component(input: &DeriveInput, record: &RecordAttributes, fields: &[Field<'_>]) -> Result<TokenStream> {
    let name = &input.ident;
    let text = name.to_string();
    let channel = record.channel.as_ref().map_or_else(|| quote!("state"), |channel| quote!(#channel));
    for position in &record.position {
        if !fields.iter().any(|field| field.name == position) {
            let text = format!("this struct has no field `{position}`; write {POSITION_FORMS}");
            return Err(Error::new_spanned(position, text));
        }
    }
    let position = match record.position.as_slice() {
        [] => quote!(),
        [both] => quote! {
            const HAS_POSITION: bool = true;

            #[inline]
            fn position(&self) -> ::core::option::Option<[f32; 2]> {
                ::core::option::Option::Some([self.#both[0], self.#both[1]])
            }

            #[inline]
            fn third_coordinate(&self) -> ::core::option::Option<f32> {
                self.#both.get(2).copied()
            }
        },
        [x, y] => quote! {
            const HAS_POSITION: bool = true;

            #[inline]
            fn position(&self) -> ::core::option::Option<[f32; 2]> {
                ::core::option::Option::Some([self.#x, self.#y])
            }
        },
        [x, y, z] => quote! {
            const HAS_POSITION: bool = true;

            #[inline]
            fn position(&self) -> ::core::option::Option<[f32; 2]> {
                ::core::option::Option::Some([self.#x, self.#y])
            }

            #[inline]
            fn third_coordinate(&self) -> ::core::option::Option<f32> {
                ::core::option::Option::Some(self.#z)
            }
        },
        [_, _, _, fourth, ..] => {
            let text = format!("a position has two or three coordinates; write {POSITION_FORMS}");
            return Err(Error::new_spanned(fourth, text));
        }
    };
    Ok(quote! {
        impl ::aether_bits::Component for #name {
            const NAME: &'static str = #text;
            const CHANNEL: &'static str = #channel;
            #position
        }
    })
}
