//! Reads the `#[replicate(…)]` attributes.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, Ident, Lit, LitStr, RangeLimits, Result};

/// What stands on a struct.
#[derive(Default)]
pub struct RecordAttributes {
    pub channel: Option<LitStr>,
    pub place: Vec<Ident>,
}

/// What stands on a field.
#[derive(Default)]
pub struct FieldAttributes {
    /// The expression that builds its codec; none if the type brings its own.
    pub codec: Option<TokenStream>,
    pub default: Option<Expr>,
    pub moves_by: Option<Ident>,
    pub skip: bool,
}

impl RecordAttributes {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = RecordAttributes::default();
        each(attributes, |meta| {
            if meta.path.is_ident("channel") {
                parsed.channel = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("place") {
                if meta.input.peek(syn::Token![=]) {
                    parsed.place.push(meta.value()?.parse()?);
                } else {
                    meta.parse_nested_meta(|name| {
                        parsed.place.extend(name.path.get_ident().cloned());
                        Ok(())
                    })?;
                }
            } else {
                return Err(meta.error("a struct takes `channel = \"…\"` and `place = field` or `place(x, y)`"));
            }
            Ok(())
        })?;
        Ok(parsed)
    }
}

impl FieldAttributes {
    pub fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = FieldAttributes::default();
        let mut range: Option<(Expr, Expr)> = None;
        let mut step: Option<Expr> = None;
        let mut list: Option<Expr> = None;
        each(attributes, |meta| {
            let codec = |name: &str, meta: &ParseNestedMeta<'_>| -> Result<TokenStream> {
                let name = Ident::new(name, proc_macro2::Span::call_site());
                let size: Expr = meta.value()?.parse()?;
                Ok(quote!(::aether_bits::codec::#name::new(#size)))
            };
            match meta.path.get_ident().map(ToString::to_string).as_deref() {
                Some("range") => range = Some(parse_range(&meta)?),
                Some("step") => step = Some(meta.value()?.parse()?),
                Some("angle") => parsed.codec = Some(codec("Angle", &meta)?),
                Some("rotation") => parsed.codec = Some(codec("Rotation", &meta)?),
                Some("unit_vector") => parsed.codec = Some(codec("UnitVector", &meta)?),
                Some("text") => parsed.codec = Some(codec("Text", &meta)?),
                Some("list") => list = Some(meta.value()?.parse()?),
                Some("default") => parsed.default = Some(meta.value()?.parse()?),
                Some("moves_by") => parsed.moves_by = Some(meta.value()?.parse()?),
                Some("skip") => parsed.skip = true,
                _ => {
                    return Err(meta.error(
                        "a field takes range, step, angle, rotation, unit_vector, text, list, default, moves_by or skip",
                    ));
                }
            }
            Ok(())
        })?;
        parsed.add_range(range, step)?;
        if let Some(len_max) = list {
            let element = parsed.codec.take().unwrap_or_else(|| quote!(::aether_bits::codec::ByType));
            parsed.codec = Some(quote!(::aether_bits::codec::List::new(#len_max, #element)));
        }
        Ok(parsed)
    }

    fn add_range(&mut self, range: Option<(Expr, Expr)>, step: Option<Expr>) -> Result<()> {
        match (range, step) {
            (Some(_), _) if self.codec.is_some() => {
                Err(Error::new(proc_macro2::Span::call_site(), "a range does not go with another packing"))
            }
            (Some((min, max)), Some(step)) => {
                self.codec = Some(quote!(::aether_bits::codec::Number::new(#min, #max, #step)));
                Ok(())
            }
            (Some((min, max)), None) if is_float(&min) || is_float(&max) => {
                Err(Error::new_spanned(min, "a range of real numbers needs a step: `range = min..=max, step = …`"))
            }
            (Some((min, max)), None) => {
                self.codec = Some(quote!(::aether_bits::codec::Integer::new(#min, #max)));
                Ok(())
            }
            (None, Some(step)) => Err(Error::new_spanned(step, "a step needs a range: `range = min..=max, step = …`")),
            (None, None) => Ok(()),
        }
    }
}

fn is_float(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Float(_)),
        Expr::Unary(unary) => is_float(&unary.expr),
        _ => false,
    }
}

fn parse_range(meta: &ParseNestedMeta<'_>) -> Result<(Expr, Expr)> {
    let expression: Expr = meta.value()?.parse()?;
    if let Expr::Range(range) = &expression
        && let (Some(min), RangeLimits::Closed(_), Some(max)) = (&range.start, &range.limits, &range.end)
    {
        return Ok(((**min).clone(), (**max).clone()));
    }
    Err(Error::new_spanned(expression, "a range is written `min..=max`"))
}

fn each(attributes: &[Attribute], mut read: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("replicate"))
        .try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}
