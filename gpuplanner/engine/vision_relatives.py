"""Which measured family a vision network belongs to, by the name that timm and torchvision give it. Pure text."""

import re
from collections.abc import Mapping

from gpuplanner.catalog.networks import Operators

LONGEST = 200
"""Characters of a name that are looked at."""
TRAINED_ELSEWHERE = r"^(tf|legacy|gluon|tv|ssl|swsl|ig|adv|jx|ens|dm)_"
"""What stands before a name to say who trained the weights."""
MORE_THAN_A_PREFIX = (
    (r"^vit_s?relpos", "vit-relpos"),
    (r"^vit_[a-z]+_(patch\d+_)?(r\d+|resnet)", "vit-hybrid"),
    (r"^swinv2_cr", "swinv2-cr"),
    (r"^eca_nfnet", "eca-nfnet"),
    (r"^eca_vovnet|^ese_vovnet|^vovnet", "vovnet"),
    (r"^nf_", "nf-resnet"),
    (r"^wide_resnet", "resnet"),
    (r"^tiny_vit", "tiny-vit"),
    (r"^mobilenetv4_hybrid", "mobilenetv4-hybrid"),
    (r"^coat_(lite_)?", "coat"),
)
PREFIX = re.compile(r"^[a-z]+(?:\d+(?=[a-z]{3}))?[a-z]*(?:(?<=v)\d)?")
"""Letters, a digit inside of a word ("res2net"), and a version ("swinv2")."""


def relatives_of(name: str) -> str:
    """The family of a network by its name, such as "resnet" for "resnet50.tv_in1k"; "" for what is no such name."""
    text = name[:LONGEST].lower().rpartition("/")[2]
    text = re.sub(TRAINED_ELSEWHERE, "", text)
    for pattern, family in MORE_THAN_A_PREFIX:
        if re.match(pattern, text):
            return family
    found = PREFIX.match(text)
    return found.group() if found else ""


_RELATIVES: Mapping[Operators, str] = {
    Operators.CONVOLUTION: "resnet seresnet ecaresnet resnetv2 resnetrs resnetaa seresnetaa resnetblur ecaresnetlight"
    " vgg darknet cs3darknet cs3sedarknet cs3edgenet cs cspdarknet cspresnet sedarknet darknetaa repvgg gernet dla"
    " hrnet densenet densenetblur inception selecsls vovnet tresnet senet res2net gcresnet nf-resnet visformer resnest"
    " skresnet rdnet hgnet hgnetv2 retinanet unet",
    Operators.GROUPED: "resnext seresnext regnetx regnety regnetv seresnextaa gcresnext cspresnext ecaresnext res2next"
    " skresnext nfnet eca-nfnet eca dpn lambda",
    Operators.DEPTHWISE: "mobilenet mobilenetv1 mobilenetv2 mobilenetv3 mobilenetv4 efficientnet efficientnetv2 tinynet"
    " lcnet mnasnet semnasnet mixnet fbnetc fbnetv3 hardcorenas spnasnet rexnet rexnetr regnetz ghostnet ghostnetv2"
    " repghostnet mobileone repvit fastvit xception convnext convnextv2 convformer poolformer poolformerv2 convmixer"
    " nasnetalarge pnasnet5large edgenext",
    Operators.ATTENTION: "vit deit deit3 beit beitv2 eva flexivit cait xcit volo crossvit mixer resmlp gmlp gmixer pit"
    " convit tnt vit-hybrid vit-relpos sequencer levit samvit test",
    Operators.WINDOWED: "swin swinv2 swinv2-cr hiera hieradet mvitv2 davit twins nest pvt focalnet gcvit tiny-vit",
    Operators.MIXED: "coatnet coatnext maxvit maxxvit maxxvitv2 coat caformer efficientformer efficientformerv2"
    " efficientvit mobilevit mobilevitv2 mobilenetv4-hybrid nextvit vitamin sam halonet botnet sebotnet sehalonet"
    " haloregnetz lamhalobotnet halo2botnet gc bat",
}
OPERATORS_OF: Mapping[str, Operators] = {name: kind for kind, names in _RELATIVES.items() for name in names.split()}
"""What each measured family mostly computes with."""
