/* A login that asks for a password and then for a one-time code, as two-factor modules do. For one test's server. */

#include <stdlib.h>
#include <string.h>

struct message { int style; const char *text; };
struct response { char *text; int code; };
struct conversation {
    int (*ask)(int, const struct message **, struct response **, void *);
    void *data;
};

extern int pam_get_item(const void *handle, int item, const void **found);

static int answered(const void *handle, const char *prompt, const char *wanted)
{
    const struct conversation *talk;
    struct message question = {1 /* without echo */, prompt};
    const struct message *questions = &question;
    struct response *given = NULL;
    int same;
    if (pam_get_item(handle, 5 /* PAM_CONV */, (const void **)&talk) != 0 || talk == NULL)
        return 0;
    if (talk->ask(1, &questions, &given, talk->data) != 0 || given == NULL)
        return 0;
    same = given->text != NULL && strcmp(given->text, wanted) == 0;
    free(given->text);
    free(given);
    return same;
}

int pam_sm_authenticate(void *handle, int flags, int argc, const char **argv)
{
    (void)flags;
    if (argc != 2)
        return 7;
    return answered(handle, "Password: ", argv[0]) && answered(handle, "Verification code: ", argv[1]) ? 0 : 7;
}

int pam_sm_setcred(void *handle, int flags, int argc, const char **argv)
{
    (void)handle, (void)flags, (void)argc, (void)argv;
    return 0;
}
