//! What the texts of an account may be.

use crate::error::ServiceError;

/// Bytes of a device's id.
const DEVICE_ID_BYTES: std::ops::RangeInclusive<usize> = 10..=128;
/// Bytes of a custom id.
const CUSTOM_ID_BYTES: std::ops::RangeInclusive<usize> = 6..=128;
/// Bytes of an email address.
const EMAIL_BYTES: std::ops::RangeInclusive<usize> = 10..=255;
/// Bytes of a password. Nobody types more; hashing more would be work for whoever sends it.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 8..=1_024;
/// Bytes of a username.
const USERNAME_BYTES: std::ops::RangeInclusive<usize> = 1..=128;
/// Bytes of the other texts of an account. They are sent along with every mention of a user.
const DISPLAY_NAME_BYTES_MAX: usize = 255;
const AVATAR_URL_BYTES_MAX: usize = 512;
const LANGUAGE_BYTES_MAX: usize = 18;
const LOCATION_BYTES_MAX: usize = 255;
const TIMEZONE_BYTES_MAX: usize = 255;
/// Bytes of an account's metadata, which is read with every mention of a user too.
const METADATA_BYTES_MAX: usize = 65_536;

/// Letters of a username that nobody chose.
const GENERATED_LETTERS: usize = 10;

/// What is to change in an account; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// The username, which nobody else may have.
    pub username: Option<String>,
    /// The name that is shown.
    pub display_name: Option<String>,
    /// Where a picture is.
    pub avatar_url: Option<String>,
    /// The language, as a tag such as `en`.
    pub language: Option<String>,
    /// Where the user is, in their own words.
    pub location: Option<String>,
    /// The timezone.
    pub timezone: Option<String>,
    /// What the game keeps about the user: a JSON object. For the server's own code alone.
    pub metadata: Option<String>,
}

impl Update {
    /// Refuses what an account cannot hold.
    pub fn check(&self) -> Result<(), ServiceError> {
        if let Some(username) = &self.username {
            check_username(username)?;
        }
        let texts = [
            ("Display name", &self.display_name, DISPLAY_NAME_BYTES_MAX),
            ("Avatar URL", &self.avatar_url, AVATAR_URL_BYTES_MAX),
            ("Language tag", &self.language, LANGUAGE_BYTES_MAX),
            ("Location", &self.location, LOCATION_BYTES_MAX),
            ("Timezone", &self.timezone, TIMEZONE_BYTES_MAX),
        ];
        for (what, text, bytes_max) in texts {
            if let Some(text) = text {
                check_text(what, text, 0..=bytes_max)?;
            }
        }
        self.metadata.as_deref().map_or(Ok(()), check_metadata)
    }

    /// Whether nothing is to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Update::default()
    }
}

/// A device's id.
pub(super) fn check_device_id(id: &str) -> Result<(), ServiceError> {
    check_text("Device ID", id, DEVICE_ID_BYTES)
}

/// A custom id.
pub(super) fn check_custom_id(id: &str) -> Result<(), ServiceError> {
    check_text("Custom ID", id, CUSTOM_ID_BYTES)
}

/// A username.
pub(super) fn check_username(username: &str) -> Result<(), ServiceError> {
    check_text("Username", username, USERNAME_BYTES)?;
    if username.trim() != username {
        // It would look like another's.
        return Err(ServiceError::invalid("Username must not begin or end with a space."));
    }
    Ok(())
}

/// A password that is to be kept.
pub(super) fn check_password(password: &str) -> Result<(), ServiceError> {
    if !PASSWORD_BYTES.contains(&password.len()) {
        let (least, most) = (PASSWORD_BYTES.start(), PASSWORD_BYTES.end());
        return Err(ServiceError::invalid(format!("Password must be {least} to {most} bytes long.")));
    }
    Ok(())
}

/// An email address in the form in which it is kept: in small letters.
pub(super) fn email(text: &str) -> Result<String, ServiceError> {
    let email = text.to_lowercase();
    check_text("Email address", &email, EMAIL_BYTES)?;
    let well_formed = email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && has_inner_dot(host));
    if !well_formed || email.contains(char::is_whitespace) {
        return Err(ServiceError::invalid("Email address is not of the form name@example.com."));
    }
    Ok(email)
}

/// A username that nobody chose.
pub(super) fn generated_username() -> String {
    const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = String::with_capacity(GENERATED_LETTERS);
    while name.len() < GENERATED_LETTERS {
        let mut random = [0; 16];
        getrandom::fill(&mut random).expect("the system has random numbers");
        // A byte beyond the last whole round of letters would favour the first ones.
        let fair = random.iter().filter(|byte| **byte < 208).map(|byte| char::from(LETTERS[usize::from(byte % 52)]));
        name.extend(fair.take(GENERATED_LETTERS - name.len()));
    }
    name
}

/// The display name that a provider gave, as far as an account can hold it.
pub(super) fn display_name_of(given: Option<&str>) -> String {
    let kept = given.unwrap_or_default();
    let shown: String = kept.chars().filter(|character| !character.is_control()).collect();
    let end = shown.floor_char_boundary(DISPLAY_NAME_BYTES_MAX);
    shown[..end].trim().to_owned()
}

/// A text of so many bytes that holds nothing that cannot be seen. That also keeps out the NUL, which PostgreSQL refuses.
pub(super) fn check_text(what: &str, text: &str, bytes: std::ops::RangeInclusive<usize>) -> Result<(), ServiceError> {
    if text.is_empty() && *bytes.start() > 0 {
        return Err(ServiceError::invalid(format!("{what} is required.")));
    }
    if !bytes.contains(&text.len()) {
        return Err(ServiceError::invalid(match bytes.start() {
            0 => format!("{what} must be at most {} bytes long.", bytes.end()),
            least => format!("{what} must be {least} to {} bytes long.", bytes.end()),
        }));
    }
    if text.contains(char::is_control) {
        return Err(ServiceError::invalid(format!("{what} must not contain control characters.")));
    }
    Ok(())
}

fn check_metadata(metadata: &str) -> Result<(), ServiceError> {
    if metadata.len() > METADATA_BYTES_MAX {
        return Err(ServiceError::invalid(format!("Metadata must be at most {METADATA_BYTES_MAX} bytes long.")));
    }
    let parsed: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(metadata);
    parsed.map(|_| ()).map_err(|_| ServiceError::invalid("Metadata must be a JSON object."))
}

/// Whether there is a dot with something on both sides of it.
fn has_inner_dot(host: &str) -> bool {
    host.char_indices().any(|(at, character)| character == '.' && at > 0 && at + 1 < host.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_has_a_name_and_a_host_with_a_dot() {
        assert_eq!(email("Ann@Example.COM").as_deref(), Ok("ann@example.com"));
        for wrong in
            ["ann.example.com", "@example.com", "ann@example", "ann@.comexample", "ann@example.", "a n@example.com"]
        {
            assert!(email(wrong).is_err(), "{wrong}");
        }
        assert!(email("a@b.c").is_err(), "it is too short");
        assert!(email(&format!("{}@example.com", "a".repeat(250))).is_err(), "it is too long");
    }

    #[test]
    fn a_generated_username_is_ten_letters() {
        let names: std::collections::HashSet<String> = (0..100).map(|_| generated_username()).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| name.len() == 10 && name.bytes().all(|byte| byte.is_ascii_alphabetic())));
    }

    #[test]
    fn a_name_from_outside_is_cut_to_what_an_account_holds() {
        assert_eq!(display_name_of(Some(" Ann\0\n ")), "Ann");
        assert_eq!(display_name_of(None), "");
        let long = display_name_of(Some(&"é".repeat(200)));
        assert!(long.len() <= DISPLAY_NAME_BYTES_MAX && long.len() >= DISPLAY_NAME_BYTES_MAX - 1);
    }
}
