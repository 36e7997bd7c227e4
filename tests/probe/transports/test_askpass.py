"""What a question of the SSH client asks for: by its words, and not by the names that stand in it."""

import pytest

from gpuplanner.probe.transports.askpass import Asked, kind_of


@pytest.mark.parametrize(
    ("text", "hint", "kind"),
    [
        ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "", Asked.HOST_KEY),
        ("root@node-07's password: ", "", Asked.PASSWORD),
        ("root@otp-gateway's password: ", "", Asked.PASSWORD),
        ("decoder@tokenizer.example.org's password: ", "", Asked.PASSWORD),
        ("(decoder@tokenizer) Password: ", "", Asked.PASSWORD),
        ("(root@node-07) Verification code: ", "", Asked.CODE),
        ("(root@node-07) One-time password (OATH) for `root': ", "", Asked.CODE),
        ("Enter passphrase for key '/home/me/.ssh/id_ed25519': ", "", Asked.PASSPHRASE),
        ("Confirm user presence for key ED25519-SK SHA256:abc", "none", Asked.TOUCH),
        ("Allow use of key id?", "confirm", Asked.CONFIRM),
    ],
)
def test_the_kind_of_a_question(text, hint, kind):
    assert kind_of(text, hint) is kind
